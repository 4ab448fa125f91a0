/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is fetched (Documentation/trace/eprobetrace.rst: +OFFSET(WHERE) reads there, +u in user memory):
 *   net events   skbaddr  the buffer, by which the event is found again
 *                head, data, network  where the network header lies: head + network - data bytes behind data. At a
 *                         reception network is not set yet, and data is the network header.
 *                protocol the Ethernet type, in network order
 *                netns    skb->dev->nd_net.net->ns.inum
 *                bytes    from data on, in words of 8; words that cannot be read are 0
 *   calls        all of their arguments, under their own names, and the file's name as text where the event has a
 *                         pointer: such an event is recorded instead of the call's
 * net_dev_queue is before segmentation: its bytes are those of the whole.
 */
#include "collect/record/eprobes.h"

#include "dtrace-chain/error.h"

#include <string.h>

static void eprobe_free(void *data)
{
	struct dtc_eprobe *probe = data;

	g_free(probe->name);
	g_free(probe->system);
	g_free(probe->event);
	g_free(probe->fields);
	g_free(probe);
}

bool dtc_eprobe_offsets_find(const DtcBtf *btf, struct dtc_eprobe_offsets *ret_offsets, GError **error)
{
	struct dtc_eprobe_offsets offsets = { 0 };
	guint inode = 0;
	const struct {
		const char *structure;
		const char *member;
		guint *offset;
	} wanted[] = {
		{ "sk_buff", "head", &offsets.skb_head },
		{ "sk_buff", "data", &offsets.skb_data },
		{ "sk_buff", "network_header", &offsets.skb_network_header },
		{ "sk_buff", "protocol", &offsets.skb_protocol },
		{ "sk_buff", "dev", &offsets.skb_dev },
		{ "net_device", "nd_net", &offsets.device_net },
		{ "net", "ns", &offsets.net_inode },
		{ "ns_common", "inum", &inode },
	};

	for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
		if (dtc_btf_find_member(btf, wanted[i].structure, wanted[i].member, wanted[i].offset))
			continue;
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
			    "this kernel's 'struct %s' has no '%s'\npackets are joined with their events instead",
			    wanted[i].structure, wanted[i].member);
		return false;
	}
	offsets.net_inode += inode;
	*ret_offsets = offsets;
	return true;
}

static char *write_packet_fields(const struct dtc_eprobe_offsets *o)
{
	return g_strdup_printf("skbaddr=$skbaddr:x64 head=+%u($skbaddr):x64 data=+%u($skbaddr):x64 "
			       "network=+%u($skbaddr):u16 protocol=+%u($skbaddr):x16 "
			       "netns=+%u(+%u(+%u($skbaddr))):u32 bytes=+0(+%u($skbaddr)):x64[%u]",
			       o->skb_head, o->skb_data, o->skb_network_header, o->skb_protocol, o->net_inode,
			       o->device_net, o->skb_dev, o->skb_data, DTC_EPROBE_WORDS);
}

/* Calls with the name of a file in user memory; of renameat2, which has two, the event stays as it is. */
static const struct {
	const char *event;
	const char *fields;
} calls[] = {
	{ "sys_enter_creat", "pathname=+0($pathname):ustring mode=$mode:u16" },
	{ "sys_enter_execve", "filename=+0($filename):ustring argv=$argv:x64 envp=$envp:x64" },
	{ "sys_enter_execveat",
	  "fd=$fd:s32 filename=+0($filename):ustring argv=$argv:x64 envp=$envp:x64 flags=$flags:s32" },
	{ "sys_enter_faccessat", "dfd=$dfd:s32 filename=+0($filename):ustring mode=$mode:s32" },
	{ "sys_enter_faccessat2", "dfd=$dfd:s32 filename=+0($filename):ustring mode=$mode:s32 flags=$flags:s32" },
	{ "sys_enter_mkdirat", "dfd=$dfd:s32 pathname=+0($pathname):ustring mode=$mode:u16" },
	{ "sys_enter_newfstatat", "dfd=$dfd:s32 filename=+0($filename):ustring statbuf=$statbuf:x64 flag=$flag:s32" },
	{ "sys_enter_open", "filename=+0($filename):ustring flags=$flags:s32 mode=$mode:u16" },
	{ "sys_enter_openat", "dfd=$dfd:s32 filename=+0($filename):ustring flags=$flags:s32 mode=$mode:u16" },
	{ "sys_enter_openat2", "dfd=$dfd:s32 filename=+0($filename):ustring how=$how:x64 usize=$usize:u64" },
	{ "sys_enter_readlinkat", "dfd=$dfd:s32 pathname=+0($pathname):ustring buf=$buf:x64 bufsiz=$bufsiz:s32" },
	{ "sys_enter_statx",
	  "dfd=$dfd:s32 filename=+0($filename):ustring flags=$flags:u32 mask=$mask:u32 buffer=$buffer:x64" },
	{ "sys_enter_unlink", "pathname=+0($pathname):ustring" },
	{ "sys_enter_unlinkat", "dfd=$dfd:s32 pathname=+0($pathname):ustring flag=$flag:s32" },
};

/* The transmission needs none: it is known by the buffer. */
static const char *const packet_events[] = { "net_dev_queue", "netif_receive_skb" };

static void add(GPtrArray *probes, const char *system, const char *event, char *fields)
{
	struct dtc_eprobe *probe = g_new0(struct dtc_eprobe, 1);

	probe->name = g_strconcat(event, "_bytes", NULL);
	probe->system = g_strdup(system);
	probe->event = g_strdup(event);
	probe->fields = fields;
	probe->is_instead = strcmp(system, "syscalls") == 0;
	g_ptr_array_add(probes, probe);
}

static bool is_recorded(const GPtrArray *events, const char *system, const char *event)
{
	g_autofree char *name = g_strconcat(system, ":", event, NULL);

	for (guint i = 0; i < events->len; i++)
		if (strcmp(g_ptr_array_index(events, i), name) == 0)
			return true;
	return false;
}

GPtrArray *dtc_eprobes_choose(const GPtrArray *events, const struct dtc_eprobe_offsets *offsets)
{
	GPtrArray *probes = g_ptr_array_new_with_free_func(eprobe_free);

	for (guint i = 0; offsets && i < G_N_ELEMENTS(packet_events); i++)
		if (is_recorded(events, "net", packet_events[i]))
			add(probes, "net", packet_events[i], write_packet_fields(offsets));
	for (guint i = 0; i < G_N_ELEMENTS(calls); i++)
		if (is_recorded(events, "syscalls", calls[i].event))
			add(probes, "syscalls", calls[i].event, g_strdup(calls[i].fields));
	return probes;
}
