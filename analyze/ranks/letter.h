/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the processes of a run tell each other, in letters: over sockets of one machine that keep them whole
 * (SOCK_SEQPACKET), and between ranks by MPI (mpi.c), which carries them and does not look into them. A message that is
 * longer than a letter goes in several, one behind the other.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_LETTER_DATA_MAX ((gsize)64 * 1024)

enum dtc_letter_type {
	/* to an owner */
	DTC_LETTER_OPEN,   /* of: bundle; the options (analyze/engine/owned.h) */
	DTC_LETTER_ASSIGN, /* of: bundle; names of its nodes, "aay" */
	DTC_LETTER_ASK,	   /* of: bundle; "(uv)": the number of the question, and the question */
	DTC_LETTER_CALL,   /* of: bundle; "(uayv)": the number of the call, the node, and the question */
	DTC_LETTER_FETCH,  /* of: image; of its file so many bytes (all) from there (at); without data */
	/* from an owner */
	DTC_LETTER_LIST,     /* of: bundle; what it sees */
	DTC_LETTER_ANSWERS,  /* of: bundle; the number of the question, and DTC_LETTER_ANSWERS_LIST_TYPE */
	DTC_LETTER_ANSWERED, /* of: bundle; "u": that question is answered */
	DTC_LETTER_RETURN,   /* of: bundle; "(umv)": the number of the call, and its answer */
	DTC_LETTER_FAILED,   /* of: bundle; "ay": why it cannot go on */
	DTC_LETTER_PAGES,    /* of: image; a part of its file (at); from the asker, too, of what it has found */
	/* from the asker to a helper */
	DTC_LETTER_HELP,  /* DTC_LETTER_HELP_TYPE: what is asked, of whom */
	DTC_LETTER_FOUND, /* of: enum dtc_owners_found; all: bytes of its image */
	DTC_LETTER_PART,  /* of: a part of the work to be done, or DTC_LETTER_NO_PART */
	/* from a helper to the asker */
	DTC_LETTER_WANT,	/* of: enum dtc_owners_found, as soon as it is there */
	DTC_LETTER_FETCH_FOUND, /* of: enum dtc_owners_found; as FETCH */
	DTC_LETTER_WORK,	/* a part is wanted */
	DTC_LETTER_MADE,	/* of: the part; what became of it */
	/* from who carries */
	DTC_LETTER_HELLO, /* all: how many ranks there are; a byte for each: whether it is to help */
	DTC_LETTER_LOST,  /* the owner of that rank is not there any more (at: enum dtc_letter_loss) */
	DTC_LETTER_END,	  /* between ranks: there is nothing more to be done */
	DTC_LETTER_ENDED, /* to the first rank: nothing is done any more */
	/* from everybody to who carries, and between these */
	DTC_LETTER_PULSE, /* there is somebody (pulse.h); all: who is at something, which took so many ns (at) */
};

enum dtc_letter_loss { DTC_LETTER_NOT_LOST, DTC_LETTER_DIED, DTC_LETTER_SILENT };

struct dtc_letter {
	uint32_t type;
	uint32_t rank;	     /* of the owner or helper that it goes to, or comes from */
	uint32_t asker;	     /* rank of who asks that owner: 0, or a helper's */
	uint32_t generation; /* of the asker: what is for one that is not there any more is for nobody */
	uint32_t of;
	uint32_t bytes; /* of the data that follow */
	uint32_t file;	/* of FETCH and PAGES: the asker's number of the file */
	uint32_t spare;
	uint64_t at;  /* of the data in the message, or in the file */
	uint64_t all; /* bytes of the message, or of the file that are wanted */
	/*
	 * To be squeezed (squeeze.h) on its way, if that makes it smaller; when it is sent, that it was. Those that
	 * carry it do not look.
	 */
	uint32_t is_squeezed;
	uint32_t unsqueezed; /* bytes of the data, then */
};
_Static_assert(sizeof(struct dtc_letter) == 56, "no padding");

/* Command line of the asker; why owners are lost (empty: they are not); who owns what; what of the recordings is asked.
 */
#define DTC_LETTER_HELP_TYPE "(aayaaya(ayu)(bmaymayaayu)(uv))"
/* Of each: node, is it captures, what is told, image, the length of its file, the begin of it. */
#define DTC_LETTER_ANSWERS_LIST_TYPE "a(aybayutay)"
#define DTC_LETTER_NO_PART G_MAXUINT32

/* A letter with its data, as it is sent. */
struct dtc_parcel {
	struct dtc_letter letter;
	char data[DTC_LETTER_DATA_MAX];
};

/* Two ends that keep letters whole, closed by what is executed. False: there is none to be had (errno). */
bool dtc_letter_open_pair(int ret_ends[2]);
/* Waits until it is sent, with so many bytes of data. False: nobody is at the other end. */
bool dtc_letter_send(int end, const struct dtc_letter *letter, const void *data);
/* A whole message; bytes, at and all of the letter are set here. */
bool dtc_letter_send_message(int end, struct dtc_letter letter, const void *data, gsize bytes);
bool dtc_letter_send_variant(int end, struct dtc_letter letter, GVariant *value);
/* Of one that was received by whom it is for. False: it is damaged. */
bool dtc_letter_unsqueeze(struct dtc_parcel *parcel);
/* For an owner, of whoever asks. */
bool dtc_letter_is_for_owner(const struct dtc_letter *letter);
/* Between the asker and who helps it. */
bool dtc_letter_is_about_help(const struct dtc_letter *letter);
/* Waits for one, which stays to be received: its type; -1: there are no more. */
int dtc_letter_await(int end);
/* Waits for one; false: there are no more. */
bool dtc_letter_receive(int end, struct dtc_parcel *ret_parcel);

/* Puts messages together again, those of each rank, asker and helper by themselves. */
typedef struct DtcAssembly DtcAssembly;
DtcAssembly *dtc_assembly_new(void);
void dtc_assembly_free(DtcAssembly *assembly);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcAssembly, dtc_assembly_free)
/* The message that ends with this letter; NULL: it has not ended. Caller owns. */
GBytes *dtc_assembly_add(DtcAssembly *assembly, const struct dtc_parcel *parcel);
/* The value in a message that was sent with dtc_letter_send_variant; NULL: it is none of that type. Caller owns. */
GVariant *dtc_letter_get_variant(GBytes *message, const char *type);
