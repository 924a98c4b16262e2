/*
 * The interface of Halfpower's plug-ins, version 1.
 *
 * Halfpower is a program that measures storage. It decides which requests are made and when, and times them; how a
 * request is done is the part of a "personality": pread, io_uring and so on. A plug-in is a personality of yours, a
 * shared object that the program loads when it is named:
 *
 *     cc -std=c11 -O2 -fPIC -shared -o own.so own.c
 *     halfpower io data.bin --personality plugin:./own.so,key=value
 *
 * This header is all there is to it: no library to link, nothing else to include. docs/PLUGINS.md says more, and
 * examples/plugin-c and examples/plugin-rust are complete plug-ins.
 *
 * The life of a plug-in:
 *
 *     halfpower_personality(1)           once or more: which functions it has
 *     open(setup)                        once for each worker: a worker makes requests, one has its own state
 *     describe
 *     submit, submit, start, reap, ...   the measurement; poll where requests arrive by a timetable
 *     close
 *
 * Threads. A worker's functions, from open to close, are called one at a time and all on the worker's own thread.
 * Several workers run at once, each on its thread, so what they share (any variable outside a worker's state) is for
 * the plug-in to guard. halfpower_personality may be called from several threads at once as well. A plug-in may start
 * threads of its own; they must be done with a worker's buffers and targets when its close returns. It is never
 * unloaded before the program ends.
 *
 * Time. What the functions take is measured as the storage's: do what can be done beforehand in open, allocate nothing
 * and print nothing between open and close. There is no way to end a function that hangs.
 *
 * A plug-in must not: exit, fork, change the working directory, signal handlers or the state of the floating-point
 * unit; let an exception or a panic leave a function; close a descriptor it was given, or move its file position
 * (other workers share it; pread and pwrite do not move it); touch the buffers but for the bytes of transfers that are
 * outstanding; write to standard output, which belongs to the program.
 *
 * Trust. A plug-in runs inside the program with the rights of the user. It is not confined in any way.
 *
 * Growth. Within a version, structs only grow at their end, and each has its size said by whoever made it: those of the
 * program in hp_setup, the plug-in's own in hp_personality.size. Look at a member that is marked with a later minor
 * version only where the size covers it. Anything else is a new version.
 */
#ifndef HALFPOWER_PERSONALITY_H
#define HALFPOWER_PERSONALITY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. */
#define HP_ABI_VERSION 1u

/* What a transfer does: hp_transfer.kind. */
#define HP_READ 0u  /* from the target to memory */
#define HP_WRITE 1u /* from memory to the target */
#define HP_TRIM 2u  /* gives the blocks back; what they hold afterwards is not defined */
#define HP_FLUSH 3u /* makes every write that came back before safe; offset and length are 0 */

/* What a target is: hp_target.kind. */
#define HP_FILE 0u
#define HP_BLOCK_DEVICE 1u

/* What the requests go to. It is the program's, and open until close returns. */
struct hp_target {
    const char *path;    /* where it was when it was opened; for messages: use the descriptor. May be NULL */
    uint64_t size_bytes; /* when it was opened */
    int32_t descriptor;  /* open for reading, and for writing where the workload writes; O_DIRECT and O_DSYNC as asked */
    uint32_t kind;       /* HP_FILE or HP_BLOCK_DEVICE */
};

/* What a worker is opened with. It and all it points to lasts only until open returns: copy what is needed later. */
struct hp_setup {
    uint32_t size;                          /* of this struct, in bytes */
    uint32_t transfer_size;                 /* of struct hp_transfer */
    uint32_t target_size;                   /* of struct hp_target */
    uint32_t targets_count;                 /* 0 where the user named `null:`: the plug-in is its own storage */
    const struct hp_target *const *targets; /* as many pointers; transfers name targets by their place here */
    const char *options;                    /* what the user wrote after the comma, as it is; "" for nothing */
    uint64_t span_bytes;                    /* no transfer goes beyond this offset of any target */
    void *buffers;                          /* every transfer's address lies in this region: to register it, say */
    uint64_t buffers_bytes;
    uint32_t outstanding;                   /* the most transfers outstanding at a time; tags are below it */
    uint32_t request_size;                  /* the most bytes of a transfer */
};

/* Bytes to be moved between memory and a target. */
struct hp_transfer {
    uint32_t tag;    /* comes back with the completion; no two that are outstanding have the same */
    uint32_t kind;   /* HP_READ, HP_WRITE, HP_TRIM or HP_FLUSH */
    uint32_t target; /* which one: below targets_count; 0 where there are none */
    uint32_t length; /* number of bytes; 0 for a flush */
    uint64_t offset; /* first byte in the target */
    void *address;   /* the bytes, or where they belong; theirs until the transfer comes back */
};

/* A transfer that came back. It does not grow within a version: the program keeps an array of these. */
struct hp_completion {
    uint32_t tag;   /* the transfer's */
    int32_t result; /* bytes moved, or an error number, negative: -EIO */
};
/*
 * A result of fewer bytes than asked is a short transfer: the program submits the rest as a new one. 0 bytes of a read or
 * a write say that the target ends there, which ends the measurement, as an error does. For a trim or a flush, which
 * are done whole, 0 is success. More bytes than the transfer has, a tag that is not outstanding and an error number
 * that is none end the measurement with a message that names the plug-in.
 */

/*
 * A plug-in's functions. `worker` is what its open gave. `error` is room for a sentence of error_size bytes, the
 * terminating zero included, for the user to read, when the function fails; it is "" at first and may be left so.
 */
struct hp_personality {
    uint32_t abi_version; /* HP_ABI_VERSION */
    uint32_t size;        /* sizeof(struct hp_personality) */

    /*
     * Makes a worker ready and puts its state, which may be NULL, into *worker. Gives 0, or an error number, negative.
     * An option it does not know is an error too: -EINVAL, and a sentence that lists the known ones.
     */
    int32_t (*open)(const struct hp_setup *setup, void **worker, char *error, size_t error_size);

    /* Takes a transfer in, which may start now, at start or at reap. It cannot fail: a failure is a completion. The
     * struct lasts until submit returns. */
    void (*submit)(void *worker, const struct hp_transfer *transfer);

    /* Starts what was taken in, without waiting. May be NULL. It is not called for every transfer. */
    void (*start)(void *worker);

    /*
     * Starts what was taken in, waits until a transfer has come back (better until `at_least` have: reap is called
     * again for those that are missing) and writes those that have to `done`, which has room for `room` of them, as
     * many as are outstanding. Each transfer comes back once. Gives their number, from 1 to room, or an error number,
     * negative, when the waiting itself failed, which ends the measurement.
     */
    int32_t (*reap)(void *worker, struct hp_completion *done, uint32_t room, uint32_t at_least, char *error,
                    size_t error_size);

    /*
     * As reap, but waits for one transfer and no longer than at_most_ns nanoseconds, and may give 0. It is called where
     * the next request is due by then. May be NULL: then reap is called, and such requests can be late.
     */
    int32_t (*poll)(void *worker, struct hp_completion *done, uint32_t room, uint64_t at_most_ns, char *error,
                    size_t error_size);

    /*
     * Gives everything back. Nothing is outstanding, unless the measurement ends by a failure of the program: then wait
     * for what is, for the buffers are gone afterwards. Called once for each open that gave 0.
     */
    void (*close)(void *worker);

    /* A line that is kept with the results: name, version, options as they were understood. It lasts until close. */
    const char *(*describe)(void *worker);
};

/*
 * What a plug-in exports, by this name. Gives its functions, which last until the program ends, or NULL when it does not
 * speak the version that it is asked for.
 */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const struct hp_personality *halfpower_personality(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif
