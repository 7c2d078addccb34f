/* A program that has loaded libfabric for itself only, as languages with plug-ins do: the provider finds it all the same. */
#include <dlfcn.h>

#include "check.h"

int main(void) {
    struct fi_info *info, *(*dupinfo)(const struct fi_info *);
    int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *, struct fi_info **);
    void *fabric = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(fabric && !dlsym(RTLD_DEFAULT, "fi_getinfo"));
    *(void **)&dupinfo = dlsym(fabric, "fi_dupinfo");
    *(void **)&getinfo = dlsym(fabric, "fi_getinfo");
    info = dupinfo(NULL);
    info->fabric_attr->prov_name = strdup("bcl");
    CHECK(getinfo(FI_VERSION(1, 17), NULL, NULL, 0, info, &info) == 0);
    CHECK(!strcmp(info->fabric_attr->prov_name, "bcl"));
    puts("all of it");
    return 0;
}
