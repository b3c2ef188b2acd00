/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a NIC of a machine, and lists of them: read from libfabric and from hwloc (fabric/nic_read.h),
 * kept by the model of the fabric, and said to PMIx clients.
 *
 * Invariant: texts are shorter than their room and have only printable ASCII characters; an unknown text is "", an
 * unknown number 0, and an unknown NUMA node NIC_NUMA_UNKNOWN.
 */
#ifndef BASE_NIC_H
#define BASE_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NIC_TEXT_BYTES   64 /* with the NUL */
#define NIC_NAME_BYTES   64
#define NIC_FABRIC_BYTES 128
#define NIC_NUMA_UNKNOWN UINT16_MAX
#define NIC_LIST_MAX     4096u /* of one machine */

enum nic_text {
    NIC_DRIVER,
    NIC_VENDOR,  /* as libfabric says it, or the number of PCI: "0x15b3" */
    NIC_DEVICE,  /* likewise */
    NIC_ADDRESS, /* of the link */
    NIC_TYPE,    /* "InfiniBand", "Ethernet" */
    NIC_PCI,     /* "0000:c1:00.0" */
    NIC_TEXT_COUNT
};

enum nic_state { NIC_STATE_UNKNOWN, NIC_DOWN, NIC_UP, NIC_STATE_COUNT };

struct nic_facts {
    char texts[NIC_TEXT_COUNT][NIC_TEXT_BYTES];
    uint64_t speed; /* bits per second */
    uint32_t mtu;   /* bytes */
    uint16_t numa;  /* as the kernel numbers them */
    uint8_t state;
};

/* Where it was found. */
enum nic_kind { NIC_OF_LIBFABRIC, NIC_INTERFACE, NIC_VERBS };

struct nic {
    char name[NIC_NAME_BYTES];     /* of the device: "mlx5_0", "eth0" */
    char fabric[NIC_FABRIC_BYTES]; /* as libfabric names it; "": unknown */
    enum nic_kind kind;
    struct nic_facts facts;
};

struct nic_list {
    struct nic *items;
    uint32_t count;
    bool is_cut; /* there were more than NIC_LIST_MAX */
};

/* Nothing is known. */
void nic_facts_init(struct nic_facts *facts);
bool nic_facts_known(const struct nic_facts *facts);
/* What is not known is taken from the others; what one of them says is up is so. */
void nic_facts_fill(struct nic_facts *facts, const struct nic_facts *others);

/* What of it has room; other characters become blanks, and those at the end are cut off.  NULL is "". */
void nic_text_set(char *text, size_t text_bytes, const char *value);
/* Is it kept as it is, and more than ""? */
bool nic_text_is_valid(const char *text);
/* "" if there is no such device. */
void nic_pci_set(struct nic_facts *facts, uint32_t domain, uint32_t bus, uint32_t device,
                 uint32_t function);
/* Is it as nic_pci_set writes it? */
bool nic_pci_is_valid(const char *text);
/* Does the invariant hold, as of facts from elsewhere?  Their texts end with a NUL. */
bool nic_facts_are_valid(const struct nic_facts *facts);

void nic_list_fini(struct nic_list *list);
/* A copy; more than NIC_LIST_MAX are left out, and the list is cut. */
void nic_list_add(struct nic_list *list, const struct nic *nic);
/* The same, unless one that is equal in all is in it.  O(n). */
void nic_list_add_new(struct nic_list *list, const struct nic *nic);
/* The NICs of a machine, sorted by name, numbers in it by their value: those of libfabric, with what hwloc's devices
 * of the same PCI address, or else of the same name, know beside.  Several descriptions of one PCI address are of one
 * NIC, which is up if one of them is; of hwloc's devices only one with the same name makes it down.  If libfabric
 * describes none: of hwloc's devices those with a PCI address that are not known to be down, the interfaces, and the
 * verbs devices without such an interface.  Of equal names the later ones get "@" and their PCI address, or "#" and a
 * number.  O(n^2). */
void nic_list_join(const struct nic_list *libfabric, const struct nic_list *hwloc,
                   struct nic_list *ret_list);

#endif
