/*
 * bcl_adi.h - tagged messages of any length, and memory that peers reach: the layer that MPI, PVM and others stand on.
 *
 *     bcl_adi *endpoint;
 *     if (bcl_adi_open(NULL, 0, &endpoint) != 0)
 *         fprintf(stderr, "%s\n", bcl_last_error());
 *
 * An endpoint sends messages to others, each with a tag, and receives those that it wants: from one sender or from any, with
 * a tag of which it may ignore some bits. A message that nobody has asked for yet waits. Part of libbcl, and used beside
 * bcl.h, whose addresses, options, errors and sentences it has; an endpoint has a port of its own.
 *
 * Operations never block. They carry a context, a number of the program's choice, and end with a completion that has the
 * same context. Calls that block: bcl_adi_wait, and bcl_adi_close, which says for how long.
 *
 * ERRORS. As in bcl.h: 0 or a negative BCL_ERR_*, and the sentence from bcl_last_error. BCL_ERR_AGAIN means that the peer, or
 * the endpoint, has no room now, and that there will be some once the program has polled. A call that fails has started nothing.
 *
 * OWNERSHIP. Memory given to an operation belongs to it until its completion has been taken: memory that is sent must not
 * change, memory that is received into must not be touched. Structures, and tables of pieces, are not kept. As in bcl.h, that
 * the memory is there is for the program to see to.
 *
 * ORDER. The messages of one sender are looked at in the order in which they were sent, whatever their lengths. A message meets the
 * oldest receive that wants it, and a receive the oldest message that it wants. Completions may come in another order. [ADI-3.2]
 *
 * PROGRESS. Messages come and go while the program makes calls on the endpoint. If it makes none for a millisecond or two, a
 * thread of the endpoint's does what they would, unless it was opened with BCL_ADI_MANUAL. Completions wait for the
 * program. [ADI-7.1]
 *
 * THREADS. Any number of threads may use an endpoint, unless it was opened with BCL_ONE_THREAD; each completion goes to one of
 * those that ask. Cancellation and fork are as of ports, in bcl.h. [ADI-7.2] [ADI-7.3]
 *
 * UNITS. Lengths are bytes, times milliseconds.
 *
 * Names in brackets, as in [ADI-3.2], are rules of spec/adi.md, which says exactly what a program may rely on.
 */
#ifndef BCL_ADI_H
#define BCL_ADI_H

#include <bcl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------- endpoints */

#define BCL_ADI_SPACES 4       /* messages of different spaces never meet the same receives; 0 to 3 */
#define BCL_ADI_EAGER_MAX 8176 /* longest message that mostly leaves at once, whoever it is for */
#define BCL_ADI_INJECT_MAX 16384 /* longest message that can be injected */
#define BCL_ADI_SHORT_MAX 8128 /* longest one-sided operation that is done in order, and most that an atomic one takes */

/** An endpoint. Only BCL knows what is inside. */
typedef struct bcl_adi bcl_adi;

enum { /* flags of bcl_adi_open */
    BCL_ADI_MANUAL = 1 /* no thread: nothing gets on but in calls of the program */
};

/**
 * Opens an endpoint, with a port of its own, and stores it at `endpoint`.
 *
 * `options` may be NULL, and are as in bcl_open, as are the errors. `flags` is BCL_ADI_MANUAL or 0. [ADI-1.1]
 */
int bcl_adi_open(const bcl_options *options, uint32_t flags, bcl_adi **endpoint);

/**
 * Closes an endpoint and gives everything back.
 *
 * Waits up to `linger_ms` until messages have left whose sends are complete, and discards what comes meanwhile. What else is not
 * complete is abandoned without a completion, and its memory is the program's again. Threads inside bcl_adi_wait return with BCL_ERR_CLOSED, and are waited
 * for. No thread may begin a call on the endpoint after this. [ADI-6.4]
 */
int bcl_adi_close(bcl_adi *endpoint, int linger_ms);

/** Stores the address at which others reach the endpoint. */
int bcl_adi_address(const bcl_adi *endpoint, bcl_address *address);

/* ---------------------------------------------------------------------------------------------- messages */

/**
 * Sends a message of any length with a tag, in space 0. Its BCL_ADI_SENT comes once `data` may be used again.
 *
 * For up to BCL_ADI_EAGER_MAX bytes that is mostly at once, whether or not the receiver listens. Errors: BCL_ERR_AGAIN;
 * BCL_ERR_LOST if a message sent to this peer before is lost though its send was complete, which is said once. [ADI-1.5] [ADI-6.3]
 */
int bcl_adi_send(bcl_adi *endpoint, bcl_address to, uint64_t tag, const void *data, size_t len, uint64_t context);

enum { /* flags of bcl_adi_outgoing */
    BCL_ADI_INJECTED = 1,  /* complete when the call returns; at most BCL_ADI_INJECT_MAX bytes */
    BCL_ADI_DELIVERED = 2, /* complete once the message is in the receiver's memory */
    BCL_ADI_QUIET = 4,     /* no completion but of a failure */
    BCL_ADI_DATA = 8       /* `data` goes with the message, into the receiver's completion */
};

/** A message to be sent, in all ways that there are. Begin with zeros. */
typedef struct bcl_adi_outgoing {
    bcl_address to;
    uint64_t tag;
    uint64_t data;              /* with BCL_ADI_DATA */
    uint64_t context;
    const struct iovec *pieces; /* the message is their bytes, one after the other; at most BCL_PIECES_MAX */
    uint32_t count;             /* how many pieces */
    uint32_t space;             /* 0 to 3 */
    uint32_t flags;             /* BCL_ADI_*, combined; 0: complete when the memory may be used again */
    uint32_t reserved;          /* zero */
} bcl_adi_outgoing;

/** Sends a message as bcl_adi_send does, as its structure says. */
int bcl_adi_sendv(bcl_adi *endpoint, const bcl_adi_outgoing *message);

/** Which messages are wanted. Begin with zeros: any message with tag 0 in space 0. [ADI-3.1] */
typedef struct bcl_adi_wanted {
    bcl_address from;  /* sender; its port is 0 for any */
    uint64_t tag;
    uint64_t ignore;   /* bits of the tag that may be anything */
    uint32_t space;    /* 0 to 3 */
    uint32_t reserved; /* zero */
} bcl_adi_wanted;

/**
 * Receives a message of space 0 into `len` bytes at `buffer`: the oldest that waits and is wanted, or the next that comes.
 *
 * `from` with port 0 is any sender. BCL_ADI_RECEIVED tells how long it is; one that is longer than the buffer ends the receive
 * with BCL_ERR_TRUNCATED. [ADI-3.2] [ADI-3.5]
 */
int bcl_adi_receive(bcl_adi *endpoint, bcl_address from, uint64_t tag, uint64_t ignore, void *buffer, size_t len,
                    uint64_t context);

/** A receive, in all ways that there are. Begin with zeros. */
typedef struct bcl_adi_incoming {
    bcl_adi_wanted wanted;
    uint64_t context;
    const struct iovec *pieces; /* filled one after the other; at most BCL_PIECES_MAX */
    uint32_t count;             /* how many pieces */
    uint32_t reserved;          /* zero */
    uint64_t multi_min_free;    /* not 0: a multi-receive buffer, of one piece, that takes one message behind the other until
                                   fewer bytes are free than this; each has its completion [ADI-3.4] */
} bcl_adi_incoming;

/** Receives as bcl_adi_receive does, as its structure says. */
int bcl_adi_receivev(bcl_adi *endpoint, const bcl_adi_incoming *receive);

/**
 * Takes back the oldest receive of a space with this context that no message has met. It ends with BCL_ERR_CANCELED.
 *
 * BCL_ERR_NOT_FOUND if there is none. [ADI-3.6]
 */
int bcl_adi_cancel(bcl_adi *endpoint, uint32_t space, uint64_t context);

/* ------------------------------------------------------------------------------- messages that wait: probes */

/** A message that waits. */
typedef struct bcl_adi_probed {
    bcl_address from;
    uint64_t tag;
    uint64_t data;     /* 0 if it has none */
    uint64_t len;      /* bytes */
    uint64_t claim;    /* of bcl_adi_claim: its name; else 0 */
    uint32_t has_data; /* 1 if it was sent with BCL_ADI_DATA */
    uint32_t reserved;
} bcl_adi_probed;

/**
 * Looks for the oldest message that waits and is wanted, after a look at what has come. It stays. [ADI-3.3]
 *
 * Returns 1 if there is one, which `message` then describes, else 0.
 */
int bcl_adi_probe(bcl_adi *endpoint, const bcl_adi_wanted *wanted, bcl_adi_probed *message);

/**
 * Probes, and takes the message from all other receives: a bcl_adi_receive_claimed or bcl_adi_discard has to follow.
 *
 * Returns 1 if there is one, which `message` then describes, else 0. [ADI-3.3]
 */
int bcl_adi_claim(bcl_adi *endpoint, const bcl_adi_wanted *wanted, bcl_adi_probed *message);

/**
 * Receives a message that was claimed into `len` bytes at `buffer`.
 *
 * BCL_ERR_NOT_FOUND if `claim` names none, or one that was received or discarded before.
 */
int bcl_adi_receive_claimed(bcl_adi *endpoint, uint64_t claim, void *buffer, size_t len, uint64_t context);

/** Gets rid of a message that was claimed. To its sender it has arrived. Errors: as bcl_adi_receive_claimed. */
int bcl_adi_discard(bcl_adi *endpoint, uint64_t claim);

/* ------------------------------------------------------------------------------------------- completions */

enum { /* type of bcl_adi_completion */
    BCL_ADI_SENT = 1,        /* a send: its memory may be used again, or the message has been delivered */
    BCL_ADI_RECEIVED = 2,    /* a receive */
    BCL_ADI_PUT_DONE = 3,    /* what was put is in the peer's memory */
    BCL_ADI_GET_DONE = 4,    /* what was in the peer's memory is in ours */
    BCL_ADI_ATOMIC_DONE = 5, /* the peer's memory was changed */
    BCL_ADI_WRITTEN = 6,     /* none of the program's: a peer has put something here and given a notice along */
    BCL_ADI_LOST = 7         /* none of the program's: what was sent to the peer is lost, though its sends were complete */
};

/** An operation has ended. Fields that a type does not name are zero. [ADI-1.4] */
typedef struct bcl_adi_completion {
    uint32_t type;        /* BCL_ADI_* */
    int32_t status;       /* 0 or BCL_ERR_* */
    bcl_address peer;     /* receiver, sender, or owner of the memory; of a receive that no message has met, the endpoint itself */
    uint64_t context;     /* as given to the operation; WRITTEN, LOST: 0 */
    uint64_t tag;         /* SENT, RECEIVED: of the message; of a receive that no message has met, the one that it wanted */
    uint64_t data;        /* RECEIVED, WRITTEN: what was given along, if has_data is 1 */
    uint64_t len;         /* length of the message, even if it did not fit */
    void *start;          /* RECEIVED: where the message begins, if the memory is in one piece */
    uint64_t value;       /* BCL_ERR_TRUNCATED: room that there was, bytes; BCL_ERR_VERSION: as in bcl_event */
    uint32_t cause;       /* BCL_ERR_PEER_GONE: BCL_CAUSE_* */
    int32_t cause_detail; /* as in bcl_event */
    uint32_t space;       /* SENT, RECEIVED */
    uint8_t has_data;     /* 1 if data was given along */
    uint8_t released;     /* 1 if the memory is the program's again: always, but of a multi-receive buffer that goes on */
    uint16_t reserved;
} bcl_adi_completion;

/** Takes up to `max` completions if there are any, and makes progress. Returns how many. */
int bcl_adi_poll(bcl_adi *endpoint, bcl_adi_completion *completions, int max);

/**
 * Waits until there is a completion, then takes up to `max`: spins, then yields, then sleeps.
 *
 * `timeout_ms` is a time in milliseconds, or -1 for ever. Returns how many, 0 when the time is over.
 */
int bcl_adi_wait(bcl_adi *endpoint, bcl_adi_completion *completions, int max, int timeout_ms);

/**
 * Stores a descriptor that is readable while there are completions, or may be, for poll, select and epoll.
 *
 * Before sleeping on it call bcl_adi_poll until it returns 0. It belongs to the endpoint: never read or close it.
 */
int bcl_adi_fd(bcl_adi *endpoint, int *fd);

/** Writes the sentence for a completion, for people, into `len` bytes at `text`; cut off if it does not fit. */
int bcl_adi_completion_text(const bcl_adi_completion *completion, char *text, size_t len);

/* ----------------------------------------------------------------------------------- one-sided operations */

/**
 * Exposes memory to peers, which find it by key: a region.
 *
 * `access` is BCL_ACCESS_GET, BCL_ACCESS_PUT, or both; atomic operations take both, or one of them if they only read or write.
 * `first_address` is what peers call the first byte: 0, or where it is, or whatever they have been told. Until the region is
 * hidden, peers read and write the memory. BCL_ERR_BUSY if the key has a region. [ADI-8.1]
 */
int bcl_adi_expose(bcl_adi *endpoint, uint64_t key, void *memory, size_t len, uint64_t first_address, uint32_t access);

/**
 * Ends a region: peers find it no more.
 *
 * BCL_ERR_BUSY as long as something that began before still reads or writes the memory, which goes on as the program polls:
 * then call it again. Once it returns 0 the memory is the program's alone. BCL_ERR_NOT_FOUND if the key has no region. [ADI-8.1]
 */
int bcl_adi_hide(bcl_adi *endpoint, uint64_t key);

/** A place in the exposed memory of a peer. */
typedef struct bcl_adi_place {
    bcl_address owner;
    uint64_t key;
    uint64_t address; /* as its owner counts, from first_address */
} bcl_adi_place;

/**
 * Writes `len` bytes to a place. BCL_ADI_PUT_DONE comes when they are there.
 *
 * If `notice` is not NULL, the owner gets BCL_ADI_WRITTEN with its 64 bits. Of up to BCL_ADI_SHORT_MAX bytes `data` may be used
 * again when the call returns. What is refused ends with BCL_ERR_RMA_DENIED, BCL_ERR_RMA_RANGE or BCL_ERR_NO_WINDOW; errors of the
 * call: BCL_ERR_AGAIN. [ADI-8.2]
 */
int bcl_adi_put(bcl_adi *endpoint, const bcl_adi_place *place, const void *data, size_t len, const uint64_t *notice,
                uint64_t context);

/** Reads `len` bytes from a place. BCL_ADI_GET_DONE comes when they are in `buffer`. Errors: as bcl_adi_put. [ADI-8.2] */
int bcl_adi_get(bcl_adi *endpoint, const bcl_adi_place *place, void *buffer, size_t len, uint64_t context);

enum { /* type of bcl_adi_change: what elements are */
    BCL_ADI_INT8 = 1,
    BCL_ADI_UINT8 = 2,
    BCL_ADI_INT16 = 3,
    BCL_ADI_UINT16 = 4,
    BCL_ADI_INT32 = 5,
    BCL_ADI_UINT32 = 6,
    BCL_ADI_INT64 = 7,
    BCL_ADI_UINT64 = 8,
    BCL_ADI_INT128 = 9,
    BCL_ADI_UINT128 = 10,
    BCL_ADI_FLOAT = 11,
    BCL_ADI_DOUBLE = 12,
    BCL_ADI_FLOAT_COMPLEX = 13,
    BCL_ADI_DOUBLE_COMPLEX = 14
};

enum { /* function of bcl_adi_change: what becomes of an element */
    BCL_ADI_MIN = 1,         /* the lesser of it and the operand */
    BCL_ADI_MAX = 2,         /* the greater */
    BCL_ADI_SUM = 3,         /* wrapping */
    BCL_ADI_PRODUCT = 4,     /* wrapping */
    BCL_ADI_LOGICAL_OR = 5,
    BCL_ADI_LOGICAL_AND = 6,
    BCL_ADI_LOGICAL_XOR = 7,
    BCL_ADI_BIT_OR = 8,      /* of integers, as the next two */
    BCL_ADI_BIT_AND = 9,
    BCL_ADI_BIT_XOR = 10,
    BCL_ADI_READ = 11,       /* what it was; there is no operand */
    BCL_ADI_WRITE = 12,      /* the operand */
    BCL_ADI_SWAP_EQ = 13,    /* the operand, if `compared` == element */
    BCL_ADI_SWAP_NE = 14,    /* ... != element */
    BCL_ADI_SWAP_LT = 15,    /* ... < element */
    BCL_ADI_SWAP_LE = 16,    /* ... <= element */
    BCL_ADI_SWAP_GT = 17,    /* ... > element */
    BCL_ADI_SWAP_GE = 18,    /* ... >= element */
    BCL_ADI_SWAP_MASKED = 19 /* the operand's bits where those of `compared` are 1 */
};

/** What an atomic operation does. Begin with zeros. */
typedef struct bcl_adi_change {
    uint32_t function;    /* BCL_ADI_MIN and so on */
    uint32_t type;        /* BCL_ADI_INT8 and so on */
    uint32_t count;       /* elements, one behind the other */
    uint32_t reserved;    /* zero */
    const void *operands; /* as many; NULL for BCL_ADI_READ */
    const void *compared; /* as many, for BCL_ADI_SWAP_...; else NULL */
    void *found;          /* where what was there goes; NULL if that is not wanted */
} bcl_adi_change;

/**
 * Changes elements at a place, each atomically. BCL_ADI_ATOMIC_DONE comes when that is done, and what was there is in `found`.
 *
 * `operands` and `compared` may be used again when the call returns; together they have at most BCL_ADI_SHORT_MAX bytes, and so
 * have the elements. BCL_ERR_INVALID if the function is not defined for the type: bits are those of integers, and complex
 * numbers have no order. Other errors: as bcl_adi_put. [ADI-8.4]
 */
int bcl_adi_atomic(bcl_adi *endpoint, const bcl_adi_place *place, const bcl_adi_change *change, uint64_t context);

#ifdef __cplusplus
}
#endif

#endif
