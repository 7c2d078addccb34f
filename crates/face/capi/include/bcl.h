/*
 * bcl.h - Basic Communication Library: messages, one-sided memory access and events between processes.
 *
 *     bcl_port *port;
 *     if (bcl_open(NULL, &port) != 0)
 *         fprintf(stderr, "%s\n", bcl_last_error());
 *
 * A process opens a port and is reached at the port's address. A port has three kinds of channels:
 *
 *   system channel (0)          small messages, read in place where they arrive, then released
 *   normal channels (1-65535)   messages of any length, each into one buffer that the receiver has posted
 *   open channels (0-4095)      windows: memory that others put to, get from, and change by atomic operations
 *
 * Operations never block. They carry a cookie, a number of the program's choice, and complete with an event that
 * has the same cookie. Calls that block: bcl_wait, bcl_job_exchange, and bcl_close, which says for how long.
 *
 * ERRORS. Every function returns 0 or a negative BCL_ERR_*; bcl_poll and bcl_wait return the number of events.
 * errno has no meaning. bcl_last_error gives the sentence for the last failure in this thread. A call that fails has
 * started nothing. What goes wrong later is the status of an event; bcl_event_text gives its sentence.
 *
 * OWNERSHIP. Memory given to an operation belongs to it until its event has been taken: memory that is sent must not
 * change, memory that is received into must not be touched. Memory bound to a window belongs to it until unbound.
 * Only the system channel copies at once. Strings and structures given to a call are not kept.
 *
 * That the memory is there, for as long as it belongs to the operation, is for the program to see to. Where the library
 * copies it as memcpy would, a wrong pointer, or a mapped file that has become shorter, ends the process by SIGSEGV or
 * SIGBUS, perhaps in a thread of the library's. Where the kernel copies, as it does with long messages within a node
 * if that is asked for (BCL_COPY_SINGLE) or quicker, the operation ends with BCL_ERR_FAULT on both sides. [SEM-9.1]
 *
 * PROGRESS. Operations get on while the program is inside calls on the port, above all bcl_poll and bcl_wait. So a
 * program with operations under way keeps taking events. Others act on its windows without any call of its own.
 *
 * THREADS. A port may be used by any number of threads, which share its events: each event goes to one of them.
 * Operations started by one thread begin in that order. With BCL_ONE_THREAD the port has no lock, and the program
 * promises that no two threads are ever inside calls on it at the same time. All other functions may be called from
 * any thread, none from a signal handler.
 *
 * CANCELLATION. No call is a cancellation point: a thread that is canceled (pthread_cancel, deferred) finishes the call
 * it is in and ends at the program's next cancellation point. That is true of bcl_wait too: to end a thread that waits,
 * send it a message, close the port, or have it wait with a timeout. Calls must not be made with cancellation that is
 * asynchronous (PTHREAD_CANCEL_ASYNCHRONOUS). [SEM-8.3]
 *
 * FORK. A port belongs to the process that opened it, and so does the place in the job. In a child, however it was made
 * (fork, _Fork, clone), calls on the port and bcl_job_... return BCL_ERR_FORKED and do nothing; the child opens a port of
 * its own (after _Fork or clone only if the parent had one thread: the C library itself promises nothing else). A DMA
 * buffer is memory that parent and child share; the child can neither free it nor use it as one. The library's
 * descriptors are closed in children of fork and of programs started by exec.
 *
 * STACK. A call uses up to 16 KiB of its thread's stack within a node, and 48 KiB where there is UDP: stacks of 64 KiB
 * and more will do.
 *
 * UNITS. Lengths and offsets are bytes, times milliseconds. Addresses are in host byte order.
 *
 * Names in brackets, as in [SEM-3.4], are rules of spec/semantics.md, which says exactly what a program may rely on.
 */
#ifndef BCL_H
#define BCL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------ limits */

#define BCL_SYSTEM_MAX 8192         /* longest message of the system channel, bytes */
#define BCL_EAGER_MAX 8192          /* longest message of a normal channel that always travels without being asked for */
#define BCL_SYSTEM_CHANNEL 0        /* for bcl_send */
#define BCL_CHANNEL_MAX 65535       /* normal channels are 1 to this */
#define BCL_WINDOW_MAX 4095         /* windows are 0 to this */
#define BCL_QUEUE_DEPTH 4096        /* operations under way, and completions not taken, of one port */
#define BCL_POSTS_MAX 65536         /* buffers that wait for a message, of one port */
#define BCL_PIECES_MAX 256          /* pieces of memory of one message */
#define BCL_BLOB_MAX 65536          /* most that a process gives to bcl_job_exchange, bytes */
#define BCL_ADDRESS_TEXT_LEN 24     /* room for any address as text, with its final zero */

/** The cookie of operations whose success is not worth an event. Failures are reported all the same. [SEM-3.4] */
#define BCL_QUIET UINT64_MAX

/* ------------------------------------------------------------------------------------------------ errors */

enum {
    BCL_OK = 0,

    /* Of calls: nothing was started. */
    BCL_ERR_INVALID = -1,         /* an argument cannot be right */
    BCL_ERR_QUEUE_FULL = -2,      /* too many operations under way: take events, then try again */
    BCL_ERR_PORT_IN_USE = -3,     /* the port number is taken */
    BCL_ERR_FOLDER = -4,          /* the folder where ports find each other cannot be used */
    BCL_ERR_FORKED = -5,          /* it belongs to the parent process */
    BCL_ERR_CLOSED = -6,          /* the port is closed */
    BCL_ERR_BUSY = -7,            /* in use: cannot be given back, or used for something else, yet */
    BCL_ERR_NOT_FOUND = -8,       /* there is no such post, window, peer or unreleased message */
    BCL_ERR_NO_MEMORY = -9,       /* no memory; also of events */
    BCL_ERR_NO_DESCRIPTORS = -10, /* no file descriptors; also of events */
    BCL_ERR_CONFIGURATION = -11,  /* a setting in the environment is wrong */
    BCL_ERR_JOB = -12,            /* the launcher or another process of the job failed */
    BCL_ERR_SYSTEM = -13,         /* a system call failed; bcl_last_error says which and how */
    BCL_ERR_INTERNAL = -14,       /* a defect of BCL itself, or a background thread of the port has died; please
                                     report it. The port can still be closed [SEM-9.3] */
    BCL_ERR_AGAIN = -15,          /* bcl_adi.h: no room now; poll, then try again. bbp.h: no room within the time */
    BCL_ERR_LOST = -16,           /* bcl_adi.h: what was sent to the peer before is lost, though its sends were complete */

    /* Of events: how an operation ended. */
    BCL_ERR_TRUNCATED = -32,      /* the message is longer than the buffer; nothing was written; both sides know */
    BCL_ERR_NO_PORT = -33,        /* nobody has this port open */
    BCL_ERR_KEY = -34,            /* the peer belongs to another job */
    BCL_ERR_VERSION = -35,        /* the peer's BCL is too different */
    BCL_ERR_NOT_ALLOWED = -36,    /* the peer belongs to another user */
    BCL_ERR_UNREACHABLE = -37,    /* no way leads to that node */
    BCL_ERR_PEER_GONE = -38,      /* the peer is gone; cause says why */
    BCL_ERR_RMA_DENIED = -39,     /* the owner of the window does not permit this access */
    BCL_ERR_RMA_RANGE = -40,      /* the access reaches outside the window, or an atomic is not aligned to 8 */
    BCL_ERR_NO_WINDOW = -41,      /* nothing is bound there */
    BCL_ERR_CANCELED = -42,       /* taken back by bcl_cancel_post or bcl_cancel_send */
    BCL_ERR_FAULT = -43,          /* memory given to the operation is not mapped */
    BCL_ERR_PROTOCOL = -44        /* the peer broke the protocol and was cut off */
};

/** Says in a few words what a status or error code means. The string is constant; unknown codes have one too. */
const char *bcl_strerror(int code);

/**
 * Says what failed, on what, why, and what to do: the sentence for the last call of this thread that failed.
 *
 * Valid until the next failure in this thread; empty if there was none. Not cleared by success.
 */
const char *bcl_last_error(void);

/** The version of the library that is loaded, as "0.1.0". The string is constant. */
const char *bcl_version(void);

/* --------------------------------------------------------------------------------------------- addresses */

/** Where a port is reached. [SEM-1.1] */
typedef struct bcl_address {
    uint32_t node;     /* IPv4 address that stands for the node: 10.0.0.1 is 0x0a000001 */
    uint16_t port;     /* from 1; below 1024 are well-known numbers, never assigned */
    uint16_t reserved; /* zero */
} bcl_address;

/** Reads an address from text such as "10.0.0.1:7". */
int bcl_address_parse(const char *text, bcl_address *address);

/**
 * Writes an address as text into `len` bytes at `text`; BCL_ADDRESS_TEXT_LEN is always enough.
 *
 * Fails with BCL_ERR_INVALID, and writes nothing, if there is no room.
 */
int bcl_address_format(bcl_address address, char *text, size_t len);

/* ------------------------------------------------------------------------------------------------- ports */

/** A port. Only BCL knows what is inside. */
typedef struct bcl_port bcl_port;

enum { /* flags of bcl_options */
    BCL_ONE_THREAD = 1 /* no lock: the program never uses the port from two threads at once */
};

enum { /* copy of bcl_options */
    BCL_COPY_DEFAULT = 0, /* as the environment says (BCL_COPY), else BCL_COPY_AUTO */
    BCL_COPY_AUTO = 1,    /* long messages within a node go the quickest of the ways below, as measured on the way */
    BCL_COPY_STREAM = 2,  /* they always go through shared memory, copied by both ends */
    BCL_COPY_SINGLE = 3   /* they are copied once, by the kernel, where that is permitted */
};

enum { /* device of bcl_options, and value of BCL_EVENT_PEER_UP: what moves the messages */
    BCL_DEVICE_DEFAULT = 0, /* as the environment says (BCL_DEVICE), else BCL_DEVICE_AUTO */
    BCL_DEVICE_AUTO = 1, /* shared memory within the node; between nodes packets, if the job has a key of its own */
    BCL_DEVICE_SHM = 2,  /* shared memory alone: ports of other nodes are unreachable */
    BCL_DEVICE_UDP = 3,  /* packets alone, even within the node */
    BCL_DEVICE_XDP = 4   /* the same, taken by the program at the interface; not without the node's agent, bcld */
};

/**
 * Settings for bcl_open. Start from BCL_OPTIONS_INIT, which leaves everything to the environment, else to defaults:
 * BCL_NODE, BCL_DIR, BCL_JOB_KEY or BCL_JOB_KEY_FILE, BCL_ALLOW_UIDS, BCL_COPY, BCL_DEVICE, BCL_DEAD_AFTER_MS;
 * and BCL_STREAMS, for which there is no field.
 */
typedef struct bcl_options {
    size_t size;                /* sizeof(bcl_options); set by BCL_OPTIONS_INIT, so that the structure can grow */
    uint32_t flags;             /* BCL_ONE_THREAD or 0 */
    uint32_t node;              /* as in bcl_address; 0: BCL_NODE, else that of the default route or of the only interface, else 127.0.0.1 */
    uint16_t number;            /* port number to have; 0: one is assigned */
    uint16_t reserved;          /* zero */
    uint32_t copy;              /* BCL_COPY_* */
    const char *folder;         /* where the ports of a node find each other; NULL: BCL_DIR, else /tmp/bcl */
    const char *key;            /* key of the job, hexadecimal; NULL: BCL_JOB_KEY..., else one for each user */
    const uint32_t *allow_uids; /* other users that may connect; NULL: BCL_ALLOW_UIDS, else none */
    size_t allow_uids_len;      /* how many */
    uint32_t device;            /* BCL_DEVICE_* */
    uint32_t dead_after_ms;     /* after which silence a peer on another node is given up, 100 to 3600000;
                                   0: BCL_DEAD_AFTER_MS, else 3000 */
} bcl_options;

#define BCL_OPTIONS_INIT {sizeof(bcl_options), 0, 0, 0, 0, BCL_COPY_DEFAULT, NULL, NULL, NULL, 0, BCL_DEVICE_DEFAULT, 0}

/**
 * Opens a port and stores it at `port`: from now on others can reach it.
 *
 * `options` may be NULL. A process may open several ports. Errors: BCL_ERR_PORT_IN_USE, BCL_ERR_FOLDER,
 * BCL_ERR_CONFIGURATION, BCL_ERR_NO_MEMORY, BCL_ERR_NO_DESCRIPTORS, BCL_ERR_SYSTEM. [SEM-1.2]
 */
int bcl_open(const bcl_options *options, bcl_port **port);

/**
 * Closes a port and gives everything back.
 *
 * Operations not complete are abandoned without an event, and memory given to them is the program's again; system
 * messages not released are gone. Peers learn that the port was closed. Threads that are inside bcl_wait return
 * with BCL_ERR_CLOSED; bcl_close waits for them. No thread may begin a call on the port after this.
 * What has left for other nodes is seen through first, so that a peer there that takes nothing holds bcl_close up, for
 * at most 3 seconds. Within a node nothing is waited for.
 * The end of the process closes its ports as well. [SEM-1.4]
 */
int bcl_close(bcl_port *port);

/** Stores the port's own address. */
int bcl_port_address(const bcl_port *port, bcl_address *address);

/**
 * Writes into `len` bytes at `text` how a connected peer is reached: the tier, how long messages are copied, and why.
 *
 * For people, so it may change; cut off if it does not fit. BCL_ERR_NOT_FOUND if there is no connection.
 */
int bcl_peer_text(bcl_port *port, bcl_address peer, char *text, size_t len);

/* ------------------------------------------------------------------------- messages: system and normal channels */

/**
 * Sends a message.
 *
 * On BCL_SYSTEM_CHANNEL at most BCL_SYSTEM_MAX bytes; they are copied before this returns. On a normal channel any
 * length; the memory must not change until BCL_EVENT_SENT has been taken, which comes when the message is in the
 * receiver's buffer. `data` may be NULL if `len` is 0. Does not wait for the peer: problems on the way arrive with the
 * event. On the system channel the messages of a sender arrive in order. On a normal channel they meet the buffers
 * posted there in order, but need not be complete in order: a short message may come to its BCL_EVENT_RECEIVED before
 * a long one that met its buffer earlier. Errors: BCL_ERR_INVALID, BCL_ERR_QUEUE_FULL. [SEM-4.1] [SEM-4.2]
 */
int bcl_send(bcl_port *port, bcl_address to, uint16_t channel, const void *data, size_t len, uint64_t cookie);

/**
 * Sends a message as bcl_send does, with 64 bits of the program's own.
 *
 * They come with the receiver's BCL_EVENT_MESSAGE or BCL_EVENT_RECEIVED, and take no room in the message; 0 is what a
 * message without them has. [SEM-4.8]
 */
int bcl_send_immediate(bcl_port *port, bcl_address to, uint16_t channel, const void *data, size_t len,
                       uint64_t immediate, uint64_t cookie);

/**
 * Sends a message as bcl_send_immediate does, gathered from `count` pieces of memory (at most BCL_PIECES_MAX), one after
 * the other.
 *
 * Pieces may be empty. On a normal channel the memory that they name must not change until BCL_EVENT_SENT; `pieces` itself
 * is copied. The receiver sees one message, and posts for it as it likes. Errors: as bcl_send. [SEM-4.10]
 */
int bcl_sendv(bcl_port *port, bcl_address to, uint16_t channel, const struct iovec *pieces, int count, uint64_t immediate,
              uint64_t cookie);

/**
 * Takes back the oldest send with this cookie to this peer, on a normal channel, that has not begun.
 *
 * It ends with BCL_EVENT_SENT and status BCL_ERR_CANCELED; its memory is the program's again, the message never arrives,
 * and the order of the others is what it was. BCL_ERR_NOT_FOUND if there is none: it has begun, has ended, or was never
 * made, and what has begun goes on as if nothing had been said. A send has begun once a byte of the message has left, or
 * the announcement of a long one, which cannot be taken back even if the receiver has no buffer for it. What waits for a
 * connection, or behind others for room, has not. [SEM-4.9]
 */
int bcl_cancel_send(bcl_port *port, bcl_address to, uint64_t cookie);

/**
 * Sends a message to the system channel that may be lost: it arrives as others do there, at most once, intact, or not.
 *
 * Copied before this returns; there is no event for it, and nobody is told whether it arrives. It never waits: without
 * a connection, which then is set up, and without room at the receiver it is dropped. At most bcl_unreliable_max bytes,
 * else BCL_ERR_INVALID. [SEM-4.7]
 */
int bcl_send_unreliable(bcl_port *port, bcl_address to, const void *data, size_t len);

/**
 * Stores the length of the longest message that bcl_send_unreliable takes for this peer at this moment.
 *
 * For a peer on another node that is one packet: known once it is connected, and it changes with the way there.
 */
int bcl_unreliable_max(bcl_port *port, bcl_address to, size_t *len);

/**
 * Posts a buffer of `len` bytes for one message on a normal channel, from whichever peer comes first.
 *
 * Posts and messages of a channel meet in order: the first post of all gets the message that is first, and so on.
 * BCL_EVENT_RECEIVED gives the buffer back when the message is whole. These events need not come in the order of the
 * posts, for a long message takes longer: the cookie says which buffer it is. [SEM-4.2]
 */
int bcl_post(bcl_port *port, uint16_t channel, void *buffer, size_t len, uint64_t cookie);

/**
 * Posts a buffer as bcl_post does that lies in `count` pieces of memory (at most BCL_PIECES_MAX): a message fills one after
 * the other, and may end in any.
 *
 * Pieces may be empty. The memory that they name belongs to the operation until its event is taken; `pieces` itself is
 * copied. Errors: as bcl_post. [SEM-4.10]
 */
int bcl_postv(bcl_port *port, uint16_t channel, const struct iovec *pieces, int count, uint64_t cookie);

/**
 * Takes back the oldest post on `channel` with this cookie that no message has met.
 *
 * It ends with BCL_EVENT_RECEIVED and status BCL_ERR_CANCELED. BCL_ERR_NOT_FOUND if there is none: then a message
 * has met it and its event has come or will come.
 */
int bcl_cancel_post(bcl_port *port, uint16_t channel, uint64_t cookie);

/* ------------------------------------------------------------------------- one-sided operations: open channels */

enum { /* access of bcl_bind, to be combined */
    BCL_ACCESS_GET = 1,    /* others may read */
    BCL_ACCESS_PUT = 2,    /* others may write */
    BCL_ACCESS_ATOMIC = 4, /* others may use bcl_fetch_add and bcl_compare_swap */
    BCL_ACCESS_ALL = 7,
    BCL_ACCESS_NOTIFY = 8 /* not a permission: this port gets BCL_EVENT_RMA_ARRIVED when somebody has written */
};

/**
 * Binds memory to a window: others reach its `len` bytes, and nothing else, as `access` says.
 *
 * Peers of the node act on it directly if it is exactly a DMA buffer (bcl_dma_alloc), and read other memory where the kernel
 * lets them; else a background thread of this process serves them. Either way this program may compute meanwhile.
 *
 * Where an agent has opened the port (BCL_DEVICE xdp or auto), its interface program serves peers of other hosts, whether
 * this process runs or is stopped, if the memory begins at a multiple of 8 in a DMA buffer of at most 1 GiB that no other
 * window and no message has shown to anybody before. For that the buffer is moved to other memory, at the same addresses: this
 * call waits for the agent, some 10 ms, the first time that a buffer is bound some 40 ms and up to 4 s for each GiB, and
 * nothing may write to the buffer until it returns. Where the agent refuses, or does not answer in time, the background thread
 * serves them.
 *
 * BCL_ERR_BUSY if the window has memory. [SEM-5.1] [SEM-6.5]
 */
int bcl_bind(bcl_port *port, uint16_t window, void *memory, size_t len, uint32_t access);

/**
 * Ends a window. Others are refused from now on, and the memory is the program's again.
 *
 * If an interface program has served it this waits for the agent, some 15 ms, and a second if there is none. [SEM-5.6]
 */
int bcl_unbind(bcl_port *port, uint16_t window);

/** Writes `len` bytes to `offset` of a peer's window. BCL_EVENT_RMA_DONE comes when they are there. */
int bcl_put(bcl_port *port, bcl_address to, uint16_t window, uint64_t offset, const void *data, size_t len,
            uint64_t cookie);

/** Reads `len` bytes from `offset` of a peer's window. BCL_EVENT_RMA_DONE comes when they are in `buffer`. */
int bcl_get(bcl_port *port, bcl_address from, uint16_t window, uint64_t offset, void *buffer, size_t len,
            uint64_t cookie);

/**
 * Adds to the 64-bit word at `offset`, which is a multiple of 8, of a peer's window; wraps.
 *
 * The value of BCL_EVENT_RMA_DONE is what was there before.
 */
int bcl_fetch_add(bcl_port *port, bcl_address peer, uint16_t window, uint64_t offset, uint64_t add, uint64_t cookie);

/**
 * Stores `desired` into the 64-bit word at `offset`, which is a multiple of 8, of a peer's window if it is `expected`.
 *
 * The value of BCL_EVENT_RMA_DONE is what was there before; it is `expected` if and only if `desired` was stored.
 */
int bcl_compare_swap(bcl_port *port, bcl_address peer, uint16_t window, uint64_t offset, uint64_t expected,
                     uint64_t desired, uint64_t cookie);

/* ------------------------------------------------------------------------------------------------ events */

enum { /* type of bcl_event */
    BCL_EVENT_SENT = 1,        /* send queue: a message has been sent */
    BCL_EVENT_MESSAGE = 2,     /* receive queue: a system message is here; bcl_release gives it back */
    BCL_EVENT_RECEIVED = 3,    /* receive queue: a posted buffer is done with */
    BCL_EVENT_RMA_DONE = 4,    /* send queue: a one-sided operation is complete */
    BCL_EVENT_RMA_ARRIVED = 5, /* receive queue: a peer has written to a window with BCL_ACCESS_NOTIFY */
    BCL_EVENT_PEER_UP = 6,     /* receive queue: a connection with a peer is up */
    BCL_EVENT_PEER_GONE = 7    /* receive queue: a peer is gone, and all that was pending with it was reported */
};

enum { /* cause of bcl_event */
    BCL_CAUSE_NONE = 0,
    BCL_CAUSE_CLOSED = 1,  /* it closed its port */
    BCL_CAUSE_EXITED = 2,  /* its process exited; cause_detail is the status */
    BCL_CAUSE_KILLED = 3,  /* its process was killed; cause_detail is the signal */
    BCL_CAUSE_VANISHED = 4, /* its process is gone and the kernel does not tell why, or its node's says so */
    BCL_CAUSE_SILENT = 5, /* on another node; nothing was heard of it for cause_detail ms */
    BCL_CAUSE_RESTARTED = 6, /* on another node; a new port has taken its place */
    BCL_CAUSE_PROTOCOL = 7 /* it broke the protocol and was cut off */
};

/** Something that has happened. Fields that a type does not name below are zero. [SEM-3.1] */
typedef struct bcl_event {
    uint32_t type;        /* BCL_EVENT_* */
    int32_t status;       /* 0 or BCL_ERR_*; SENT, RECEIVED, RMA_DONE */
    bcl_address peer;     /* the other port; for a canceled post this port itself */
    uint64_t cookie;      /* of the operation; SENT, RECEIVED, RMA_DONE */
    const void *data;     /* MESSAGE: its bytes, to be read until bcl_release */
    uint64_t len;         /* length of the message, even if it did not fit; RMA_ARRIVED: bytes written */
    uint64_t offset;      /* RMA_ARRIVED: where in the window */
    uint64_t value;       /* RMA_DONE: what an atomic found; BCL_ERR_TRUNCATED: room in the buffer, bytes;
                             BCL_ERR_VERSION: the peer's version, and in bits 32-63 this library's;
                             PEER_UP: BCL_DEVICE_* that moves the messages */
    uint16_t channel;     /* SENT, RECEIVED: channel; RMA_DONE, RMA_ARRIVED: window */
    uint16_t reserved;
    uint32_t cause;       /* BCL_CAUSE_*; PEER_GONE, and BCL_ERR_PEER_GONE */
    int32_t cause_detail; /* exit status or signal */
    uint32_t reserved2;
    uint64_t handle[3];   /* for bcl_release only */
    uint64_t immediate;   /* MESSAGE, RECEIVED: what the sender gave bcl_send_immediate, else 0 */
    uint64_t reserved3[3];
} bcl_event;

enum { /* which queues */
    BCL_SEND = 1, /* completions of sends and one-sided operations */
    BCL_RECV = 2, /* arrivals, completions of posts, news of peers */
    BCL_ANY = 3   /* both, the receive queue first */
};

/**
 * Takes up to `max` events if there are any, and makes progress. Makes no system call, unless bcl_fd was used.
 *
 * Returns how many, 0 if there are none. [SEM-3.2]
 */
int bcl_poll(bcl_port *port, int which, bcl_event *events, int max);

/**
 * Waits until there is an event, then takes up to `max`: spins, then yields, then sleeps.
 *
 * `timeout_ms` is a time in milliseconds, or -1 for ever. Returns how many, 0 when the time is over. [SEM-3.2]
 */
int bcl_wait(bcl_port *port, int which, bcl_event *events, int max, int timeout_ms);

/**
 * Stores a descriptor that is readable while there may be events, for select, poll and epoll, level-triggered.
 *
 * When it is readable, call bcl_poll until it returns 0: that makes it unreadable again. It belongs to the port:
 * do not read, write or close it. [SEM-3.3]
 */
int bcl_fd(bcl_port *port, int *fd);

/**
 * Gives the system message of a BCL_EVENT_MESSAGE back; its data must not be read any more.
 *
 * A message that is not released takes room from its sender, and from nobody else. Messages may be released in any
 * order. The event's data and handle become zero. BCL_ERR_NOT_FOUND if it was released before. [SEM-4.1]
 */
int bcl_release(bcl_port *port, bcl_event *event);

/** Writes a sentence about an event, with what to do if it failed, into `len` bytes at `text`; cut off to fit. */
int bcl_event_text(const bcl_event *event, char *text, size_t len);

/* ------------------------------------------------------------------------------------------------ memory */

/**
 * Allocates a DMA buffer of `len` bytes, zeroed, aligned to a page, and stores its start at `memory`.
 *
 * Peers on the node can be shown it: a long message sent from it is copied once, without a system call, and a window
 * on it is acted upon directly. All of it is reserved here: BCL_ERR_NO_MEMORY now, never a fault later. What the
 * machine, or a memory cgroup of this process, has not left is too much. [SEM-6.1]
 */
int bcl_dma_alloc(size_t len, void **memory);

/**
 * Frees a DMA buffer, by the start that bcl_dma_alloc stored. NULL is allowed and does nothing.
 *
 * The program must not touch it any more. Operations under way, windows and registrations keep the memory until
 * they end. BCL_ERR_INVALID if it is not a DMA buffer, or was freed before.
 */
int bcl_dma_free(void *memory);

/** Registered memory. Only BCL knows what is inside. */
typedef struct bcl_memory bcl_memory;

/**
 * Registers `len` bytes: their pages are made present, and sending from them needs no look-up.
 *
 * The memory must stay mapped until bcl_deregister. Stores a handle at `memory`. [SEM-6.1]
 */
int bcl_register(void *start, size_t len, bcl_memory **memory);

/** Ends a registration. Operations under way are not disturbed. */
int bcl_deregister(bcl_memory *memory);

/** As bcl_send, of `len` bytes from `offset` of registered memory. */
int bcl_send_registered(bcl_port *port, bcl_address to, uint16_t channel, const bcl_memory *memory, size_t offset,
                        size_t len, uint64_t cookie);

/* --------------------------------------------------------------------------------------------------- job */

/**
 * Stores the number of this process in its job, from 0. A process that no launcher started is alone: rank 0 of 1. A child
 * that a process of the job has forked gets BCL_ERR_FORKED.
 */
int bcl_job_rank(uint32_t *rank);

/** Stores the number of processes in the job. */
int bcl_job_size(uint32_t *size);

/**
 * Gives `len` bytes to all processes of the job, and stores what each has given, by rank, at `all`, which has room
 * for `len` times the size of the job. For example each process's bcl_address.
 *
 * Blocks until all processes have called it, with the same `len`, at most BCL_BLOB_MAX. BCL_ERR_JOB if one of them
 * has ended or gave another length.
 */
int bcl_job_exchange(const void *mine, size_t len, void *all);

#ifdef __cplusplus
}
#endif

#endif
