/*
 * A plug-in for Halfpower: memory as storage, which can be slow, come up short and fail on demand.
 *
 *     cc -std=c11 -O2 -fPIC -shared -I../../include -o ram.so ram.c
 *     halfpower io null: --size 64MiB --personality plugin:./ram.so,delay_us=100
 *
 * Options, separated by commas; numbers are decimal:
 *
 *     delay_us=N     every transfer takes N microseconds, all that are outstanding at the same time
 *     fail_after=N   transfers fail once a worker has done N
 *     errno=NAME     with this error: EIO (without it), ENOSPC, ENODEV, ETIMEDOUT
 *     short_every=N  every Nth transfer of a worker moves only half of its bytes
 *     flip_every=N   every Nth transfer of a worker, if it is a read, brings a bit that is not what was written
 *     lose=N         a worker's Nth transfer never comes back, which a plug-in must not do: to see what happens
 *
 * The memory is shared by all workers and all targets, begins as zeros and lasts as long as the program.
 */
#define _GNU_SOURCE
#include <halfpower_personality.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* The storage. Workers move bytes of it without a lock: whoever writes a place that another reads gets either. */
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *memory;
static uint64_t memory_bytes;

struct options {
    uint64_t delay_us, fail_after, short_every, flip_every, lose;
    int error;
};

/* A transfer taken in: which of the worker's it is, from 1, and when it is done. */
struct pending {
    struct hp_transfer transfer;
    uint64_t number, due_ns;
};

struct worker {
    struct options options;
    uint64_t taken; /* transfers so far */
    uint32_t head, count, room;
    char description[128];
    struct pending ring[]; /* in the order in which they came, which is that in which they are due */
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_until_ns(uint64_t at_ns) {
    const struct timespec at = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {}
}

/* Reads a whole number that is all of `text`. */
static int number(const char *text, uint64_t *value) {
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static int error_number(const char *name, int *value) {
    static const struct { const char *name; int value; } known[] = {
        {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"ENODEV", ENODEV}, {"ETIMEDOUT", ETIMEDOUT}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) return *value = known[i].value, 1;
    return 0;
}

/* Reads `key=value`. */
static int read_option(char *option, struct options *options) {
    char *value = strchr(option, '=');
    if (value == NULL) return 0;
    *value++ = '\0';
    if (strcmp(option, "delay_us") == 0) return number(value, &options->delay_us);
    if (strcmp(option, "fail_after") == 0) return number(value, &options->fail_after);
    if (strcmp(option, "short_every") == 0) return number(value, &options->short_every);
    if (strcmp(option, "flip_every") == 0) return number(value, &options->flip_every);
    if (strcmp(option, "lose") == 0) return number(value, &options->lose);
    if (strcmp(option, "errno") == 0) return error_number(value, &options->error);
    return 0;
}

static int32_t read_options(const char *text, struct options *options, char *error, size_t error_size) {
    *options = (struct options){.fail_after = UINT64_MAX, .error = EIO};
    char *copy = strdup(text), *rest = NULL;
    if (copy == NULL) return -ENOMEM;
    int32_t result = 0;
    for (char *option = strtok_r(copy, ",", &rest); option != NULL && result == 0; option = strtok_r(NULL, ",", &rest)) {
        if (!read_option(option, options)) {
            snprintf(error, error_size,
                     "the option %s is not understood; there are delay_us=N, fail_after=N, errno=EIO|ENOSPC|ENODEV|"
                     "ETIMEDOUT, short_every=N, flip_every=N and lose=N", option);
            result = -EINVAL;
        }
    }
    free(copy);
    return result;
}

/* Makes the memory, or sees that it is large enough. */
static int32_t claim_memory(uint64_t bytes, char *error, size_t error_size) {
    int32_t result = 0;
    pthread_mutex_lock(&memory_lock);
    if (memory == NULL) {
        void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED) {
            result = -errno;
        } else {
            memory = made;
            memory_bytes = bytes;
        }
    } else if (bytes > memory_bytes) {
        snprintf(error, error_size, "the memory was made with %llu bytes and does not grow; measure the largest first",
                 (unsigned long long)memory_bytes);
        result = -ENOSPC;
    }
    pthread_mutex_unlock(&memory_lock);
    return result;
}

static int32_t ram_open(const struct hp_setup *setup, void **state, char *error, size_t error_size) {
    struct options options;
    int32_t result = read_options(setup->options, &options, error, error_size);
    if (result == 0) result = claim_memory(setup->span_bytes, error, error_size);
    if (result != 0) return result;
    struct worker *worker = calloc(1, sizeof *worker + setup->outstanding * sizeof *worker->ring);
    if (worker == NULL) return -ENOMEM;
    worker->options = options;
    worker->room = setup->outstanding;
    snprintf(worker->description, sizeof worker->description, "ram 1.0 %s", setup->options);
    *state = worker;
    return 0;
}

static void ram_submit(void *state, const struct hp_transfer *transfer) {
    struct worker *worker = state;
    worker->taken++;
    if (worker->taken == worker->options.lose) return;
    uint64_t due_ns = worker->options.delay_us == 0 ? 0 : now_ns() + worker->options.delay_us * 1000;
    worker->ring[(worker->head + worker->count) % worker->room] = (struct pending){*transfer, worker->taken, due_ns};
    worker->count++;
}

/* Whether it is the turn of the transfer with this number. */
static int is_turn(uint64_t number, uint64_t every) { return every != 0 && number % every == 0; }

/* Moves the bytes, and says how many. */
static int32_t move(const struct options *options, const struct pending *pending) {
    const struct hp_transfer *transfer = &pending->transfer;
    uint32_t length = transfer->length;
    if (pending->number > options->fail_after) return -options->error;
    if (transfer->kind == HP_FLUSH) return 0;
    if (transfer->offset >= memory_bytes) return 0;
    if (length > memory_bytes - transfer->offset) length = (uint32_t)(memory_bytes - transfer->offset);
    unsigned char *place = memory + transfer->offset;
    if (transfer->kind == HP_TRIM) return memset(place, 0, length), 0;
    if (is_turn(pending->number, options->short_every) && length > 1) length /= 2;
    if (transfer->kind == HP_READ) {
        memcpy(transfer->address, place, length);
        if (is_turn(pending->number, options->flip_every)) ((unsigned char *)transfer->address)[length / 2] ^= 1;
    }
    if (transfer->kind == HP_WRITE) memcpy(place, transfer->address, length);
    return (int32_t)length;
}

/* Gives back what is due. */
static uint32_t collect(struct worker *worker, struct hp_completion *done, uint32_t room) {
    uint32_t given = 0;
    uint64_t now = worker->options.delay_us == 0 ? 0 : now_ns();
    while (worker->count > 0 && given < room && worker->ring[worker->head].due_ns <= now) {
        const struct pending *pending = &worker->ring[worker->head];
        done[given++] = (struct hp_completion){pending->transfer.tag, move(&worker->options, pending)};
        worker->head = (worker->head + 1) % worker->room;
        worker->count--;
    }
    return given;
}

static int32_t ram_reap(void *state, struct hp_completion *done, uint32_t room, uint32_t at_least, char *error,
                        size_t error_size) {
    struct worker *worker = state;
    (void)error, (void)error_size;
    if (at_least > worker->count) at_least = worker->count;
    if (at_least > 0 && worker->options.delay_us != 0)
        sleep_until_ns(worker->ring[(worker->head + at_least - 1) % worker->room].due_ns);
    return (int32_t)collect(worker, done, room);
}

static int32_t ram_poll(void *state, struct hp_completion *done, uint32_t room, uint64_t at_most_ns, char *error,
                        size_t error_size) {
    struct worker *worker = state;
    (void)error, (void)error_size;
    if (worker->options.delay_us != 0 && worker->count > 0) {
        uint64_t until_ns = now_ns() + at_most_ns, due_ns = worker->ring[worker->head].due_ns;
        sleep_until_ns(due_ns < until_ns ? due_ns : until_ns);
    }
    return (int32_t)collect(worker, done, room);
}

static void ram_close(void *state) { free(state); }

static const char *ram_describe(void *state) { return ((struct worker *)state)->description; }

const struct hp_personality *halfpower_personality(uint32_t abi_version) {
    static const struct hp_personality ram = {
        .abi_version = HP_ABI_VERSION,
        .size = sizeof(struct hp_personality),
        .open = ram_open,
        .submit = ram_submit,
        .reap = ram_reap,
        .poll = ram_poll,
        .close = ram_close,
        .describe = ram_describe,
    };
    return abi_version == HP_ABI_VERSION ? &ram : NULL;
}
