/* base/list.h: a ring of nodes embedded in what they list; the head is a node too. O(1), no
 * allocation. One thread, or under the lock that owns the list. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct list_node {
    struct list_node *next, *prev;
};

/* What a node is embedded in. Not LIST_ENTRY: <sys/queue.h>, and so libevent, has that. */
#define CONTAINER_OF(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))
/* Safe against removal of the node in hand. */
#define LIST_EACH(node, following, head)                                                                               \
    for ((node) = (head)->next, (following) = (node)->next; (node) != (head);                                          \
         (node) = (following), (following) = (node)->next)

static inline void list_init(struct list_node *head)
{
    head->next = head->prev = head;
}

static inline bool list_empty(const struct list_node *head)
{
    return head->next == head;
}

/* True when n is on some list; list_remove() and zeroed memory leave it off. */
static inline bool list_linked(const struct list_node *n)
{
    return n->next != NULL;
}

static inline void list_append(struct list_node *head, struct list_node *n)
{
    n->next = head;
    n->prev = head->prev;
    head->prev->next = n;
    head->prev = n;
}

static inline void list_remove(struct list_node *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->next = n->prev = NULL;
}
