#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks Kubernetes manifests against the schema of its API, as Debian's python3-kubernetes has it (made from
Kubernetes' OpenAPI): every key must be known, every value of its type, and what is demanded be there. And checks that a
manifest with a fault is refused, wherever the fault is.
usage: manifest.py FILE..."""
import copy
import re
import sys

try:
    import yaml
    from kubernetes.client import models
except ImportError as error:  # Debian's packages are for Debian's Python: hence the first line
    print(f"skipped: {error} (Debian 12: apt-get install python3-kubernetes python3-yaml)")
    sys.exit(77)

PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}


class Refused(Exception):
    """What is wrong, and where."""


def check_value(value, wanted, where):
    inner = re.fullmatch(r"(list|dict)[\[(](?:str, )?(.*?)[\])]", wanted)
    if inner:
        if not isinstance(value, list if inner.group(1) == "list" else dict):
            raise Refused(f"{where} is no {inner.group(1)}")
        for key, one in enumerate(value) if inner.group(1) == "list" else value.items():
            check_value(one, inner.group(2), f"{where}[{key}]")
    elif wanted in PLAIN:
        if not isinstance(value, PLAIN[wanted]) or (isinstance(value, bool) and wanted != "bool"):
            raise Refused(f"{where} is no {wanted}: {value!r}")
    elif hasattr(models, wanted):
        check_object(value, getattr(models, wanted), where)
    elif wanted not in ("object", "datetime"):
        raise Refused(f"{where}: this check does not know the type {wanted}")


def check_object(value, model, where):
    """The model's setters refuse None where a value is demanded, and what is not in a list of values."""
    if not isinstance(value, dict):
        raise Refused(f"{where} is no object")
    names = {key: name for name, key in model.attribute_map.items()}
    for key, one in value.items():
        if key not in names:
            raise Refused(f"{where}.{key} is not known")
        check_value(one, model.openapi_types[names[key]], f"{where}.{key}")
    try:
        model(**{names[key]: one for key, one in value.items()})
    except ValueError as refused:
        raise Refused(f"{where}: {refused}") from refused


def check_document(document):
    if not isinstance(document, dict):
        raise Refused("is no object")
    group, _, version = str(document.get("apiVersion")).rpartition("/")
    name = version.capitalize() + str(document.get("kind"))
    if group not in ("", "apps", "batch") or not hasattr(models, name):
        raise Refused(f"there is no {document.get('kind')} in {document.get('apiVersion')}")
    check_object(document, getattr(models, name), document["kind"])
    check_selector(document)


def check_selector(document):
    """The server demands of these what no schema says: the pods that are made are those that are looked for."""
    spec = document.get("spec", {})
    if "template" not in spec:
        return
    wanted = {} if document["kind"] == "Job" else spec["selector"]["matchLabels"]  # a job's is made by the server
    if not wanted.items() <= spec["template"].get("metadata", {}).get("labels", {}).items():
        raise Refused("spec.selector does not fit the labels of spec.template")
    pod = spec["template"]["spec"]
    volumes = {one["name"] for one in pod.get("volumes", ())}
    for container in pod["containers"]:
        for mount in container.get("volumeMounts", ()):
            if mount["name"] not in volumes:
                raise Refused(f"there is no volume {mount['name']}")


def make_faults(document, value=None, path=()):
    """(what was done, a copy of the document in which it was) for each of its objects."""
    value = document if value is None else value
    if isinstance(value, dict):
        for change in ("unknown", "wrong"):
            faulty = copy.deepcopy(document)
            target = faulty
            for key in path:
                target = target[key]
            # labels and the like take any key
            if change == "unknown" and path and path[-1] in ("labels", "matchLabels", "requests", "limits"):
                target["unknown"] = {}
            elif change == "unknown":
                target["unknown"] = 1
            else:
                for key in target:
                    target[key] = 1.5
            yield f"{change} in {'.'.join(map(str, path)) or 'the document'}", faulty
    for key, one in (value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(one, (dict, list)) and one:
            yield from make_faults(document, one, (*path, key))


def check_file(path):
    with open(path, encoding="utf-8") as file:
        documents = list(yaml.safe_load_all(file))
    for document in documents:
        check_document(document)
        for what, faulty in make_faults(document):
            try:
                check_document(faulty)
            except (Refused, KeyError, AttributeError):
                continue
            raise Refused(f"a fault was not seen: {what}")
    return len(documents)


def main():
    for path in sys.argv[1:]:
        try:
            print(f"{path}: {check_file(path)} objects")
        except (Refused, OSError, yaml.YAMLError) as refused:
            print(f"{path}: {refused}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
