/* A stand-in for libnvidia-ml.so.1 in tests: says what a state file says.
 *
 * The file (environment variable NVML_SHIM_STATE) has one row a line:
 *
 *     <seconds> <device or -> <key> <value to the end of the line>
 *
 * A row counts from <seconds> after the library was opened; of several rows with one key the last
 * that counts wins. The file is read again when it changes, so a running program sees new faults.
 *
 * Keys of the box (device -): init, count, driver, branch, near.<a>.<b>, log.
 * Keys of a device: uuid, name, pci, minor, cc, memory, free, processes, link.<n> (off, switch or a
 * PCI address), width, width_most, gen, power, limit, limit_least, limit_most, clock, clock_most,
 * util, reasons, temp, temp_memory, threshold.<n>, ecc_on, ecc_corrected, ecc_uncorrected,
 * pages_single, pages_double, pages_pending, link_errors, replays, mig, xid (delivered once for each
 * row), lost (1: every call answers 15). root (of the box; 1: setters are carried out, else refused)
 * and stubborn (of a device; 1: a setter says yes and changes nothing).
 * Knobs, of a device or the box: error.<call> (the call answers this number) and delay.<call>
 * (milliseconds; -1 never returns). <call> is the name without "nvmlDevice" or "nvml".
 * A key that is not there answers NotSupported (3).
 *
 * Compiled with -DSHIM_R535, the symbols that branch did not have are left out.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef int ret_t;
enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7,
       TIMEOUT = 10, NO_LOST = 15 };

typedef struct { double at; int device; char key[48]; char value[96]; } row_t;
#define MOST_ROWS 8192
#define MOST_DEVICES 64
static row_t rows[MOST_ROWS];
static int row_count;
static struct timespec opened;
static struct timespec changed;
static int open_count;
static char handles[MOST_DEVICES];
static int registered[MOST_DEVICES];
static int delivered[MOST_ROWS];

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)(t.tv_sec - opened.tv_sec) + (double)(t.tv_nsec - opened.tv_nsec) / 1e9;
}

static void load(void) {
    const char *path = getenv("NVML_SHIM_STATE");
    struct stat s;
    if (!path || stat(path, &s)) return;
    if (row_count && s.st_mtim.tv_sec == changed.tv_sec && s.st_mtim.tv_nsec == changed.tv_nsec)
        return;
    FILE *f = fopen(path, "r");
    if (!f) return;
    char line[256], device[16];
    int count = 0;
    while (count < MOST_ROWS && fgets(line, sizeof line, f)) {
        row_t *r = &rows[count];
        r->value[0] = 0;
        if (sscanf(line, "%lf %15s %47s %95[^\n]", &r->at, device, r->key, r->value) < 3) continue;
        r->device = device[0] == '-' ? -1 : atoi(device);
        count++;
    }
    fclose(f);
    row_count = count;
    changed = s.st_mtim;
}

static const char *get(int device, const char *key) {
    const char *found = NULL;
    double now = now_s();
    load();
    for (int i = 0; i < row_count; i++)
        if (rows[i].device == device && rows[i].at <= now && !strcmp(rows[i].key, key))
            found = rows[i].value;
    return found;
}

static long long set_limit[MOST_DEVICES];
static long long set_clock[MOST_DEVICES];
static int set_persistence[MOST_DEVICES];

static int number(int device, const char *key, long long *out) {
    const char *v = get(device, key);
    if (!v || !strcmp(v, "absent")) return 0;
    *out = strtoll(v, NULL, 0);
    if (device < 0) return 1;
    if (!strcmp(key, "limit") && set_limit[device]) *out = set_limit[device];
    if (!strcmp(key, "clock") && set_clock[device] && *out > set_clock[device])
        *out = set_clock[device];
    return 1;
}

/* The knobs: a delay first, then a made-up error. */
static ret_t knobs(int device, const char *call) {
    char key[64];
    long long n;
    snprintf(key, sizeof key, "delay.%s", call);
    if (number(device, key, &n)) {
        if (n < 0) for (;;) pause();
        usleep((useconds_t)n * 1000);
    }
    snprintf(key, sizeof key, "error.%s", call);
    if (number(device, key, &n)) return (ret_t)n;
    return OK;
}

static ret_t enter(void *handle, const char *call, int *device) {
    long long lost;
    if (!open_count) return UNINITIALIZED;
    *device = (int)((char *)handle - handles);
    if (*device < 0 || *device >= MOST_DEVICES) return INVALID;
    if (number(*device, "lost", &lost) && lost) return NO_LOST;
    return knobs(*device, call);
}

#define DEVICE(call) int d; ret_t r = enter(handle, call, &d); if (r) return r; long long n = 0
#define NUMBER(call, key) DEVICE(call); if (!number(d, key, &n)) return NOT_SUPPORTED

/* --- the box ---------------------------------------------------------------------------------- */

ret_t nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    long long n = 0;
    if (!open_count) clock_gettime(CLOCK_MONOTONIC, &opened);
    ret_t r = knobs(-1, "Init");
    if (r) return r;
    if (number(-1, "init", &n) && n) return (ret_t)n;
    open_count++;
    return OK;
}
ret_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
ret_t nvmlShutdown(void) { if (open_count) open_count--; return OK; }
const char *nvmlErrorString(ret_t r) {
    static char text[32];
    snprintf(text, sizeof text, "shim error %d", r);
    return text;
}

static ret_t text(int device, const char *key, char *out, unsigned size) {
    const char *v = get(device, key);
    if (!v) return NOT_SUPPORTED;
    if (strlen(v) >= size) return SMALL;
    strcpy(out, v);
    return OK;
}

ret_t nvmlSystemGetDriverVersion(char *out, unsigned size) {
    ret_t r = knobs(-1, "SystemGetDriverVersion");
    return r ? r : text(-1, "driver", out, size);
}
ret_t nvmlSystemGetNVMLVersion(char *out, unsigned size) {
    ret_t r = text(-1, "driver", out, size);
    return r;
}
ret_t nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12090; return OK; }
ret_t nvmlSystemGetCudaDriverVersion(int *out) { *out = 12090; return OK; }
#ifndef SHIM_R535
typedef struct { unsigned version; char branch[80]; } branch_t;
ret_t nvmlSystemGetDriverBranch(branch_t *out, unsigned size) {
    return text(-1, "branch", out->branch, size);
}
#endif
ret_t nvmlDeviceGetCount_v2(unsigned *out) {
    long long n;
    if (!open_count) return UNINITIALIZED;
    ret_t r = knobs(-1, "GetCount");
    if (r) return r;
    if (!number(-1, "count", &n)) return NOT_SUPPORTED;
    *out = (unsigned)n;
    return OK;
}
ret_t nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    long long count = 0, lost;
    number(-1, "count", &count);
    if (index >= (unsigned)count) return INVALID;
    if (number((int)index, "lost", &lost) && lost) return NO_LOST;
    ret_t r = knobs((int)index, "GetHandleByIndex");
    if (r) return r;
    *out = &handles[index];
    return OK;
}
static ret_t by_text(const char *key, const char *value, void **out) {
    long long count = 0;
    number(-1, "count", &count);
    for (int d = 0; d < count; d++) {
        const char *v = get(d, key);
        if (v && !strcasecmp(v, value)) { *out = &handles[d]; return OK; }
    }
    return NOT_FOUND;
}
ret_t nvmlDeviceGetHandleByUUID(const char *uuid, void **out) { return by_text("uuid", uuid, out); }
ret_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out) { return by_text("pci", id, out); }

/* --- identity --------------------------------------------------------------------------------- */

ret_t nvmlDeviceGetName(void *handle, char *out, unsigned size) {
    DEVICE("GetName"); (void)n; return text(d, "name", out, size);
}
ret_t nvmlDeviceGetUUID(void *handle, char *out, unsigned size) {
    DEVICE("GetUUID"); (void)n; return text(d, "uuid", out, size);
}
ret_t nvmlDeviceGetSerial(void *handle, char *out, unsigned size) {
    DEVICE("GetSerial"); (void)n; return text(d, "serial", out, size);
}
ret_t nvmlDeviceGetIndex(void *handle, unsigned *out) {
    DEVICE("GetIndex"); (void)n; *out = (unsigned)d; return OK;
}
ret_t nvmlDeviceGetMinorNumber(void *handle, unsigned *out) {
    NUMBER("GetMinorNumber", "minor"); *out = (unsigned)n; return OK;
}
ret_t nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    DEVICE("GetCudaComputeCapability"); (void)n;
    const char *v = get(d, "cc");
    return v && sscanf(v, "%d.%d", major, minor) == 2 ? OK : NOT_SUPPORTED;
}
typedef struct {
    char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32];
} pci_t;
static ret_t fill_pci(const char *address, pci_t *out) {
    unsigned domain, bus, device;
    if (!address || sscanf(address, "%x:%x:%x", &domain, &bus, &device) != 3) return NOT_SUPPORTED;
    memset(out, 0, sizeof *out);
    out->domain = domain; out->bus = bus; out->device = device;
    snprintf(out->legacy, sizeof out->legacy, "%04X:%02X:%02X.0", domain & 0xffff, bus, device);
    snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", domain, bus, device);
    return OK;
}
ret_t nvmlDeviceGetPciInfo_v3(void *handle, pci_t *out) {
    DEVICE("GetPciInfo"); (void)n; return fill_pci(get(d, "pci"), out);
}

/* --- memory ----------------------------------------------------------------------------------- */

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory2_t;
ret_t nvmlDeviceGetMemoryInfo(void *handle, memory_t *out) {
    NUMBER("GetMemoryInfo", "memory");
    out->total = (unsigned long long)n;
    out->free = number(d, "free", &n) ? (unsigned long long)n : out->total;
    out->used = out->total - out->free;
    return OK;
}
ret_t nvmlDeviceGetMemoryInfo_v2(void *handle, memory2_t *out) {
    NUMBER("GetMemoryInfo", "memory");
    out->total = (unsigned long long)n;
    out->reserved = 0;
    out->free = number(d, "free", &n) ? (unsigned long long)n : out->total;
    out->used = out->total - out->free;
    return OK;
}
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process_t;
ret_t nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, process_t *out) {
    NUMBER("GetComputeRunningProcesses", "processes");
    if (!out || *count < (unsigned)n) { *count = (unsigned)n; return n ? SMALL : OK; }
    for (int i = 0; i < n; i++) out[i] = (process_t){ 1000u + (unsigned)i, 1ull << 30, ~0u, ~0u };
    *count = (unsigned)n;
    return OK;
}

/* --- links ------------------------------------------------------------------------------------ */

static const char *link_of(int d, unsigned link) {
    char key[16];
    snprintf(key, sizeof key, "link.%u", link);
    return get(d, key);
}
ret_t nvmlDeviceGetNvLinkState(void *handle, unsigned link, unsigned *out) {
    DEVICE("GetNvLinkState"); (void)n;
    const char *v = link_of(d, link);
    if (!v) return link ? INVALID : NOT_SUPPORTED;
    *out = strcmp(v, "off") != 0;
    return OK;
}
ret_t nvmlDeviceGetNvLinkRemotePciInfo_v2(void *handle, unsigned link, pci_t *out) {
    DEVICE("GetNvLinkRemotePciInfo"); (void)n;
    const char *v = link_of(d, link);
    if (!v || !strcmp(v, "off")) return INVALID;
    return fill_pci(v, out);
}
ret_t nvmlDeviceGetNvLinkRemoteDeviceType(void *handle, unsigned link, unsigned *out) {
    DEVICE("GetNvLinkRemoteDeviceType"); (void)n;
    const char *v = link_of(d, link);
    if (!v || !strcmp(v, "off")) return INVALID;
    *out = strcmp(v, "switch") ? 0 : 2;
    return OK;
}
ret_t nvmlDeviceGetNvLinkErrorCounter(void *handle, unsigned link, unsigned counter,
                                      unsigned long long *out) {
    DEVICE("GetNvLinkErrorCounter");
    if (!link_of(d, link)) return link ? INVALID : NOT_SUPPORTED;
    *out = link == 0 && counter == 0 && number(d, "link_errors", &n) ? (unsigned long long)n : 0;
    return OK;
}
ret_t nvmlDeviceGetTopologyCommonAncestor(void *handle, void *other, unsigned *out) {
    DEVICE("GetTopologyCommonAncestor");
    int e = (int)((char *)other - handles);
    char key[32];
    snprintf(key, sizeof key, "near.%d.%d", d < e ? d : e, d < e ? e : d);
    if (!number(-1, key, &n)) return NOT_SUPPORTED;
    *out = (unsigned)n;
    return OK;
}
ret_t nvmlDeviceGetP2PStatus(void *handle, void *other, unsigned index, unsigned *out) {
    DEVICE("GetP2PStatus"); (void)n; (void)other; (void)index;
    *out = link_of(d, 0) ? 0 : 4;
    return OK;
}

#define SIMPLE(name, type, key) \
    ret_t nvmlDevice##name(void *handle, type *out) { \
        NUMBER(#name, key); *out = (type)n; return OK; }
SIMPLE(GetCurrPcieLinkWidth, unsigned, "width")
SIMPLE(GetMaxPcieLinkWidth, unsigned, "width_most")
SIMPLE(GetCurrPcieLinkGeneration, unsigned, "gen")
SIMPLE(GetMaxPcieLinkGeneration, unsigned, "gen_most")
SIMPLE(GetPcieReplayCounter, unsigned, "replays")
SIMPLE(GetPowerUsage, unsigned, "power")
SIMPLE(GetEnforcedPowerLimit, unsigned, "limit")
SIMPLE(GetPowerManagementLimit, unsigned, "limit")
SIMPLE(GetPowerManagementDefaultLimit, unsigned, "limit_default")
SIMPLE(GetTotalEnergyConsumption, unsigned long long, "energy")
SIMPLE(GetRetiredPagesPendingStatus, unsigned, "pages_pending")
SIMPLE(GetCurrentClocksThrottleReasons, unsigned long long, "reasons")
#ifndef SHIM_R535
SIMPLE(GetCurrentClocksEventReasons, unsigned long long, "reasons")
#endif

ret_t nvmlDeviceGetPowerManagementLimitConstraints(void *handle, unsigned *least, unsigned *most) {
    NUMBER("GetPowerManagementLimitConstraints", "limit_least");
    *least = (unsigned)n;
    *most = number(d, "limit_most", &n) ? (unsigned)n : *least;
    return OK;
}
ret_t nvmlDeviceGetClockInfo(void *handle, unsigned kind, unsigned *out) {
    NUMBER("GetClockInfo", "clock"); (void)kind; *out = (unsigned)n; return OK;
}
ret_t nvmlDeviceGetMaxClockInfo(void *handle, unsigned kind, unsigned *out) {
    NUMBER("GetMaxClockInfo", "clock_most"); (void)kind; *out = (unsigned)n; return OK;
}
ret_t nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *out) {
    NUMBER("GetTemperature", "temp"); (void)sensor; *out = (unsigned)n; return OK;
}
ret_t nvmlDeviceGetTemperatureThreshold(void *handle, unsigned kind, unsigned *out) {
    char key[24];
    snprintf(key, sizeof key, "threshold.%u", kind);
    NUMBER("GetTemperatureThreshold", key); *out = (unsigned)n; return OK;
}
typedef struct { unsigned gpu, memory; } util_t;
ret_t nvmlDeviceGetUtilizationRates(void *handle, util_t *out) {
    NUMBER("GetUtilizationRates", "util");
    out->gpu = (unsigned)n; out->memory = 0;
    return OK;
}

/* --- memory errors ---------------------------------------------------------------------------- */

ret_t nvmlDeviceGetEccMode(void *handle, unsigned *now, unsigned *next) {
    NUMBER("GetEccMode", "ecc_on"); *now = *next = (unsigned)n; return OK;
}
ret_t nvmlDeviceGetTotalEccErrors(void *handle, unsigned kind, unsigned counter,
                                  unsigned long long *out) {
    (void)counter;
    NUMBER("GetTotalEccErrors", kind ? "ecc_uncorrected" : "ecc_corrected");
    *out = (unsigned long long)n;
    return OK;
}
ret_t nvmlDeviceGetRetiredPages(void *handle, unsigned cause, unsigned *count,
                                unsigned long long *out) {
    NUMBER("GetRetiredPages", cause ? "pages_double" : "pages_single");
    if (!out) { *count = (unsigned)n; return n ? SMALL : OK; }
    if (*count < (unsigned)n) return SMALL;
    for (int i = 0; i < n; i++) out[i] = 4096ull * (unsigned long long)(i + 1);
    *count = (unsigned)n;
    return OK;
}
ret_t nvmlDeviceGetRemappedRows(void *handle, unsigned *a, unsigned *b, unsigned *c, unsigned *e) {
    NUMBER("GetRemappedRows", "rows"); *a = *b = *c = *e = (unsigned)n; return OK;
}
ret_t nvmlDeviceGetMigMode(void *handle, unsigned *now, unsigned *next) {
    NUMBER("GetMigMode", "mig"); *now = *next = (unsigned)n; return OK;
}

/* --- fields ----------------------------------------------------------------------------------- */

typedef struct {
    unsigned field, scope; long long when, took; unsigned type; ret_t ret;
    union { double d; unsigned u; unsigned long long ull; } value;
} field_t;
ret_t nvmlDeviceGetFieldValues(void *handle, int count, field_t *out) {
    DEVICE("GetFieldValues");
    for (int i = 0; i < count; i++) {
        const char *key = out[i].field == 82 ? "temp_memory" : out[i].field == 186 ? "power_now" : "";
        if (!number(d, key, &n)) { out[i].ret = NOT_SUPPORTED; continue; }
        out[i].ret = OK;
        out[i].type = 1;
        out[i].value.ull = 0;
        out[i].value.u = (unsigned)n;
    }
    return OK;
}

/* --- events ----------------------------------------------------------------------------------- */

typedef struct { void *device; unsigned long long type, data; unsigned gi, ci; } event_t;
static char event_set;
ret_t nvmlEventSetCreate(void **out) { *out = &event_set; return OK; }
ret_t nvmlEventSetFree(void *set) { (void)set; return OK; }
ret_t nvmlDeviceGetSupportedEventTypes(void *handle, unsigned long long *out) {
    DEVICE("GetSupportedEventTypes");
    *out = number(d, "event_mask", &n) ? (unsigned long long)n : 8;
    return OK;
}
ret_t nvmlDeviceRegisterEvents(void *handle, unsigned long long mask, void *set) {
    DEVICE("RegisterEvents"); (void)n; (void)set;
    registered[d] = (mask & 8) != 0;
    return OK;
}
ret_t nvmlEventSetWait_v2(void *set, event_t *out, unsigned wait_ms) {
    (void)set;
    double until = now_s() + wait_ms / 1000.0;
    do {
        load();
        for (int i = 0; i < row_count; i++) {
            int d = rows[i].device;
            if (d < 0 || !registered[d] || delivered[i] || rows[i].at > now_s()) continue;
            if (strcmp(rows[i].key, "xid")) continue;
            delivered[i] = 1;
            *out = (event_t){ &handles[d], 8, strtoull(rows[i].value, NULL, 0), 0, 0 };
            return OK;
        }
        if (wait_ms) usleep(2000);
    } while (now_s() < until);
    return TIMEOUT;
}

/* --- setters: each leaves a line in the log; with root 1 they are carried out, unless stubborn 1 --- */

static ret_t say_set(int d, const char *call, unsigned value) {
    const char *path = get(-1, "log");
    long long root = 0, stubborn = 0;
    FILE *f = path ? fopen(path, "a") : NULL;
    if (f) { fprintf(f, "%s %d %u\n", call, d, value); fclose(f); }
    if (!number(-1, "root", &root) || !root) return 4;
    if (number(d, "stubborn", &stubborn) && stubborn) return 5;
    return OK;
}
ret_t nvmlDeviceSetPowerManagementLimit(void *handle, unsigned limit) {
    DEVICE("SetPowerManagementLimit"); (void)n;
    ret_t said = say_set(d, "SetPowerManagementLimit", limit);
    if (said == OK) set_limit[d] = limit;
    return said == 5 ? OK : said;
}
ret_t nvmlDeviceSetGpuLockedClocks(void *handle, unsigned least, unsigned most) {
    DEVICE("SetGpuLockedClocks"); (void)n; (void)least;
    ret_t said = say_set(d, "SetGpuLockedClocks", most);
    if (said == OK) set_clock[d] = most;
    return said == 5 ? OK : said;
}
ret_t nvmlDeviceSetPersistenceMode(void *handle, unsigned mode) {
    DEVICE("SetPersistenceMode"); (void)n;
    ret_t said = say_set(d, "SetPersistenceMode", mode);
    if (said == OK) set_persistence[d] = (int)mode;
    return said == 5 ? OK : said;
}
ret_t nvmlDeviceGetPersistenceMode(void *handle, unsigned *out) {
    DEVICE("GetPersistenceMode"); (void)n;
    *out = (unsigned)set_persistence[d];
    return OK;
}
