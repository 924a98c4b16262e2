/*
 * A plug-in for Halfpower: a file of an NFS server, by libnfs, without the kernel's client and its page cache.
 *
 *     cc -std=c11 -O2 -fPIC -shared -pthread -I../../include -o nfs.so nfs.c -lnfs
 *     halfpower io null: --size 1GiB --depth 8 --personality 'plugin:./nfs.so,url=nfs://HOST/EXPORT/FILE?version=4'
 *
 * Options, separated by commas:
 *
 *     url=URL    the file; after a question mark, separated by &: version=3 (without it) or 4, nfsport=N, mountport=N,
 *                uid=N, gid=N
 *     stable=1   the server stores each write before it answers (without it: at a flush)
 *
 * Each worker has a connection of its own, and a transfer is one READ, WRITE or COMMIT there. The file is never made,
 * resized or replaced, and not followed if it is a symbolic link. A connection that ends is not made anew.
 */
#define _GNU_SOURCE
#include <halfpower_personality.h>
#include <nfsc/libnfs.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* From libnfs 6 on, what is read comes straight to its place. Before, it is copied there. */
#ifdef LIBNFS_API_V2
#define READ(transfer) (transfer)->address, (transfer)->length, (transfer)->offset
#define WRITE(transfer) (transfer)->address, (transfer)->length, (transfer)->offset
#define COPIES 0
#else
#define READ(transfer) (transfer)->offset, (transfer)->length
#define WRITE(transfer) (transfer)->offset, (transfer)->length, (transfer)->address
#define COPIES 1
#endif

#define SECOND_NS UINT64_C(1000000000)
/* A server that does not answer for this time is given up. */
#define PATIENCE_NS (30 * SECOND_NS)
/* libnfs 4 takes no longer answers, and has less room for a write of NFSv4. */
#define MOST_BYTES (1u << 20)
#ifdef LIBNFS_FEATURE_MULTITHREADING
#define MOST_WRITTEN_V4 MOST_BYTES
#else
#define MOST_WRITTEN_V4 3072u
#endif

/* What libnfs does without them: connect again, mount what lies below the export, keep directories. */
static const char off[] = "autoreconnect=0&auto-traverse-mounts=0&dircache=0";
static const char form[] = "nfs://HOST/EXPORT/FILE[?version=3|4&nfsport=N&mountport=N&uid=N&gid=N]";

/* libnfs 4 has variables without a lock, which it uses while it connects. The number is for the names of clients. */
static pthread_mutex_t connecting = PTHREAD_MUTEX_INITIALIZER;
static unsigned clients;

struct call {
    struct worker *worker;
    struct hp_transfer transfer;
    int is_outstanding;
};

struct worker {
    char url[1024];
    int version, is_stable, is_read_only;
    struct nfs_context *nfs; /* NULL once the connection is lost */
    struct nfsfh *file;
    struct nfs_stat_64 facts;
    int32_t is_answered, status, lost; /* the answer that open or close waits for; why the connection was lost */
    uint64_t heard_ns;                 /* when the server last answered, or had nothing to answer */
    uint32_t outstanding, ready;       /* calls at the server, and completions to give back */
    uint32_t most_written;             /* bytes of a write */
    char description[256];
    struct hp_completion *done; /* the completions */
    struct call calls[];        /* by tag */
};

/* Where the reason of a failure belongs. */
struct error {
    char *text;
    size_t size;
};

static int32_t fail(struct error error, int32_t number, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(error.text, error.size, format, values);
    va_end(values);
    return number;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Whether these are the settings of a URL: libnfs has others, which read ahead, keep data or print. */
static int has_known_settings(struct worker *worker) {
    static const char *const known[] = {"version=", "nfsport=", "mountport=", "uid=", "gid="};
    for (const char *at = strchr(worker->url, '?'); at != NULL; at = strchr(at, '&')) {
        size_t i = 0, digits;
        for (at++; i < 5 && strncmp(at, known[i], strlen(known[i])) != 0; i++) {}
        if (i == 5) return 0;
        digits = strspn(at += strlen(known[i]), "0123456789");
        if (digits == 0 || (at[digits] != '&' && at[digits] != '\0')) return 0;
        if (i == 0) worker->version = atoi(at);
    }
    return worker->version == 3 || worker->version == 4;
}

static int32_t read_options(struct worker *worker, const char *text, struct error error) {
    for (size_t length; *text != '\0'; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        if (strncmp(text, "url=", 4) == 0 && length < sizeof worker->url - sizeof off)
            snprintf(worker->url, length - 3, "%s", text + 4);
        else if (length == 8 && strncmp(text, "stable=1", 8) == 0)
            worker->is_stable = 1;
        else
            return fail(error, -EINVAL, "the option %.*s is not understood; there are url=%s and stable=1",
                        length > 60 ? 60 : (int)length, text, form);
    }
    if (*worker->url == '\0') return fail(error, -EINVAL, "name a file, like url=%s", form);
    if (!has_known_settings(worker)) return fail(error, -EINVAL, "a setting of the URL is unknown: url=%s", form);
    return 0;
}

/* Of NFSv3 libnfs gives EFAULT for every error, and its number at the end of a sentence: NFS3ERR_STALE(-116). */
static int32_t error_number(struct nfs_context *nfs, int status) {
    const char *text = nfs_get_error(nfs), *number = text == NULL ? NULL : strrchr(text, '(');
    if (text != NULL && strstr(text, "ERR_DQUOT(") != NULL) return -EDQUOT;
    if (status == -EFAULT && number != NULL) status = atoi(number + 1);
    return status < 0 && status > -4096 && status != -EFAULT && status != -ERANGE ? status : -EIO;
}

static void complete(struct call *call, int32_t result) {
    if (!call->is_outstanding) return;
    call->is_outstanding = 0;
    call->worker->outstanding--;
    call->worker->done[call->worker->ready++] = (struct hp_completion){call->transfer.tag, result};
}

/* A call came back, or libnfs gives it up. */
static void came_back(int status, struct nfs_context *nfs, void *data, void *of) {
    struct call *call = of;
    const struct hp_transfer *transfer = &call->transfer;
    int32_t result = call->worker->lost;
    if (result == 0) result = status < 0 ? error_number(nfs, status) : status;
    if (result > 0 && (uint32_t)result > transfer->length) result = -EPROTO;
    if (COPIES && result > 0 && transfer->kind == HP_READ) memcpy(transfer->address, data, (size_t)result);
    complete(call, result);
}

/* Ends the connection. What is outstanding comes back with the error, and nothing touches its bytes afterwards. */
static void lose(struct worker *worker, int32_t error) {
    worker->lost = error;
    nfs_destroy_context(worker->nfs);
    worker->nfs = NULL;
}

/* Lets libnfs send and receive. */
static void serve(struct worker *worker, short events) {
    uint32_t before = worker->ready;
    if (nfs_service(worker->nfs, events) < 0) {
        for (uint32_t i = before; i < worker->ready; i++)
            if (worker->done[i].result < 0) worker->done[i].result = -ECONNRESET;
        lose(worker, -ECONNRESET);
    } else if (worker->ready > before) {
        worker->heard_ns = now_ns();
    }
}

/* Waits until something can be received or sent, for no longer than this; gives the events. libnfs would not read the
 * last answers if it saw the end of the connection beside them. */
static short wait_for_server(const struct worker *worker, uint64_t at_most_ns) {
    const struct timespec time = {(time_t)(at_most_ns / SECOND_NS), (long)(at_most_ns % SECOND_NS)};
    struct pollfd server = {nfs_get_fd(worker->nfs), (short)nfs_which_events(worker->nfs), 0};
    if (ppoll(&server, 1, &time, NULL) <= 0) return 0;
    return server.revents & (POLLIN | POLLOUT) ? server.revents & (POLLIN | POLLOUT) : server.revents;
}

/* Waits as long as the server may still take, or for less, and lets libnfs do what can be done. */
static void take_turn(struct worker *worker, uint64_t at_most_ns) {
    uint64_t quiet_ns = now_ns() - worker->heard_ns, left_ns = quiet_ns < PATIENCE_NS ? PATIENCE_NS - quiet_ns : 0;
    short events = wait_for_server(worker, at_most_ns < left_ns ? at_most_ns : left_ns);
    if (events != 0)
        serve(worker, events);
    else if (left_ns == 0)
        lose(worker, -ETIMEDOUT);
}

/* Waits for the answer to a call of open or close, which hold the lock. */
static int32_t answer(struct worker *worker, int queued) {
    uint64_t until = now_ns() + PATIENCE_NS;
    worker->status = -EIO;
    for (worker->is_answered = 0; queued == 0 && !worker->is_answered;) {
        uint64_t now = now_ns();
        if (now >= until) return worker->lost = -ETIMEDOUT;
        pthread_mutex_unlock(&connecting);
        short events = wait_for_server(worker, until - now);
        pthread_mutex_lock(&connecting);
        if (events != 0 && nfs_service(worker->nfs, events) < 0) worker->lost = queued = -ECONNRESET;
    }
    return worker->status;
}

static void answered(int status, struct nfs_context *nfs, void *data, void *of) {
    struct worker *worker = of;
    (void)nfs, (void)data;
    worker->status = status;
    worker->is_answered = 1;
}

static void opened(int status, struct nfs_context *nfs, void *data, void *of) {
    if (status == 0) ((struct worker *)of)->file = data;
    answered(status, nfs, data, of);
}

static void examined(int status, struct nfs_context *nfs, void *data, void *of) {
    if (status == 0) ((struct worker *)of)->facts = *(const struct nfs_stat_64 *)data;
    answered(status, nfs, data, of);
}

/* Mounts and opens: for writing too if the server allows it, as it is not known here whether the workload writes. */
static int32_t reach(struct worker *worker, const struct nfs_url *url) {
    const int flags = O_NOFOLLOW | (worker->is_stable ? O_SYNC : 0), on = 1;
    int32_t result = answer(worker, nfs_mount_async(worker->nfs, url->server, url->path, answered, worker));
    if (result != 0) return result;
    setsockopt(nfs_get_fd(worker->nfs), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    result = answer(worker, nfs_open_async(worker->nfs, url->file, flags | O_RDWR, opened, worker));
    if (result == -EACCES || result == -EPERM || result == -EROFS || result == -EINVAL) {
        worker->is_read_only = 1;
        result = answer(worker, nfs_open_async(worker->nfs, url->file, flags | O_RDONLY, opened, worker));
    }
    return result != 0 ? result : answer(worker, nfs_fstat64_async(worker->nfs, worker->file, examined, worker));
}

/* Whether the file is one that the workload's requests fit into. */
static int32_t check(const struct worker *worker, const struct hp_setup *setup, struct error error) {
    unsigned long long has = worker->facts.nfs_size, span = setup->span_bytes, most = MOST_BYTES;
    const uint64_t limits[] = {nfs_get_readmax(worker->nfs), nfs_get_writemax(worker->nfs)};
    for (int i = 0; i < 2; i++)
        if (limits[i] > 0 && limits[i] < most) most = limits[i];
    if (!S_ISREG(worker->facts.nfs_mode)) return fail(error, -EINVAL, "that is no regular file; name one");
    if (has < span)
        return fail(error, -EINVAL,
                    "the file has %llu bytes, and requests go up to %llu; give --size %llu, or make it larger",
                    has, span, has);
    if (setup->request_size > most)
        return fail(error, -EINVAL, "a request has up to %llu bytes here; give --request-size %llu or less", most,
                    most);
    return 0;
}

/* Two connections of one name would end each other's open files, by NFSv4. */
static void name_client(struct nfs_context *nfs) {
    char name[64], host[24] = "";
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "halfpower %s %d %u", host, (int)getpid(), clients++);
    nfs4_set_client_name(nfs, name);
}

static int32_t connect_to(struct worker *worker, const struct hp_setup *setup, struct error error) {
    name_client(worker->nfs);
    strcat(strcat(worker->url, strchr(worker->url, '?') == NULL ? "?" : "&"), off);
    struct nfs_url *url = nfs_parse_url_full(worker->nfs, worker->url);
    if (url == NULL) return fail(error, -EINVAL, "the URL is not of the form %s", form);
    int32_t result = reach(worker, url);
    const char *text = nfs_get_error(worker->nfs), *path = url->path, *file = url->file;
    if (result == 0)
        result = check(worker, setup, error);
    else if (result == -ENOENT)
        fail(error, result, "%s has no file %s%s; make one there, as large as --size", url->server, path, file);
    else if (result == -ELOOP)
        fail(error, result, "%s%s is a symbolic link, or behind one; name the file itself", path, file);
    else if (result == -ETIMEDOUT)
        fail(error, result, "%s did not answer within 30 seconds", url->server);
    else
        fail(error, result, "%s: %s", url->server, text == NULL || *text == '\0' ? "no connection" : text);
    worker->most_written = worker->version == 4 ? MOST_WRITTEN_V4 : MOST_BYTES;
    snprintf(worker->description, sizeof worker->description, "nfs 1.0, NFSv%d, %swrites of up to %u bytes, %s%s of %s",
             worker->version, worker->is_stable ? "stable " : "", worker->most_written, path, file, url->server);
    nfs_destroy_url(url);
    return result;
}

static void close_worker(void *state) {
    struct worker *worker = state;
    pthread_mutex_lock(&connecting);
    if (worker->lost == 0 && worker->file != NULL && worker->outstanding == 0)
        answer(worker, nfs_close_async(worker->nfs, worker->file, answered, worker));
    if (worker->nfs != NULL) nfs_destroy_context(worker->nfs);
    pthread_mutex_unlock(&connecting);
    free(worker->done);
    free(worker);
}

static int32_t open_worker(const struct hp_setup *setup, void **state, char *text, size_t size) {
    const struct error error = {text, size};
    struct worker *worker = calloc(1, sizeof *worker + setup->outstanding * sizeof *worker->calls);
    if (worker == NULL) return -ENOMEM;
    worker->version = 3;
    int32_t result = read_options(worker, setup->options, error);
    pthread_mutex_lock(&connecting);
    if (result == 0) {
        worker->done = calloc(setup->outstanding, sizeof *worker->done);
        worker->nfs = nfs_init_context();
        result = worker->done == NULL || worker->nfs == NULL ? -ENOMEM : connect_to(worker, setup, error);
    }
    pthread_mutex_unlock(&connecting);
    if (result != 0) return close_worker(worker), result;
    return *state = worker, 0;
}

static int queue(struct worker *worker, struct call *call) {
    const struct hp_transfer *transfer = &call->transfer;
    if (transfer->kind == HP_FLUSH) return nfs_fsync_async(worker->nfs, worker->file, came_back, call);
    if (transfer->kind == HP_READ) return nfs_pread_async(worker->nfs, worker->file, READ(transfer), came_back, call);
    return nfs_pwrite_async(worker->nfs, worker->file, WRITE(transfer), came_back, call);
}

static void submit(void *state, const struct hp_transfer *transfer) {
    struct worker *worker = state;
    struct call *call = &worker->calls[transfer->tag];
    int32_t error = worker->lost;
    *call = (struct call){worker, *transfer, 1};
    if (worker->outstanding++ == 0) worker->heard_ns = now_ns();
    if (error == 0 && transfer->kind == HP_TRIM) error = -EOPNOTSUPP;
    if (error == 0 && transfer->kind == HP_WRITE && worker->is_read_only) error = -EACCES;
    if (error == 0 && transfer->kind == HP_WRITE && transfer->length > worker->most_written) error = -EMSGSIZE;
    if (error == 0 && queue(worker, call) < 0) error = -ENOMEM;
    if (error != 0) complete(call, error);
}

static void start(void *state) {
    struct worker *worker = state;
    if (worker->nfs != NULL && nfs_which_events(worker->nfs) & POLLOUT) serve(worker, POLLOUT);
}

static int32_t collect(struct worker *worker, struct hp_completion *done, uint32_t room) {
    uint32_t given = worker->ready < room ? worker->ready : room;
    memcpy(done, worker->done, given * sizeof *done);
    memmove(worker->done, worker->done + given, (worker->ready -= given) * sizeof *done);
    return (int32_t)given;
}

static int32_t reap(void *state, struct hp_completion *done, uint32_t room, uint32_t at_least, char *text,
                    size_t size) {
    struct worker *worker = state;
    (void)text, (void)size;
    start(worker);
    while (worker->ready < at_least && worker->outstanding > 0) take_turn(worker, PATIENCE_NS);
    return collect(worker, done, room);
}

static int32_t poll_once(void *state, struct hp_completion *done, uint32_t room, uint64_t at_most_ns, char *text,
                         size_t size) {
    struct worker *worker = state;
    (void)text, (void)size;
    start(worker);
    if (worker->ready == 0 && worker->outstanding > 0) take_turn(worker, at_most_ns);
    return collect(worker, done, room);
}

static const char *describe(void *state) { return ((struct worker *)state)->description; }

const struct hp_personality *halfpower_personality(uint32_t abi_version) {
    static const struct hp_personality nfs = {
        .abi_version = HP_ABI_VERSION,
        .size = sizeof(struct hp_personality),
        .open = open_worker,
        .submit = submit,
        .start = start,
        .reap = reap,
        .poll = poll_once,
        .close = close_worker,
        .describe = describe,
    };
    return abi_version == HP_ABI_VERSION ? &nfs : NULL;
}
