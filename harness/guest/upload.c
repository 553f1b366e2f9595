// SPDX-License-Identifier: MIT
/* Files for guests of another host or user, as volumes. */
#include "harness/guest/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <libvirt/virterror.h>
#include <libxml/tree.h>

#include "harness/util/cleanup.h"
#include "harness/util/text.h"

/* On the hypervisor's host. Its QEMU, whoever it runs as, must be able to read it. */
#define POOL_FOLDER "/var/tmp"

struct uploaded {
	char *path, *there;
	struct stat status; /* to see that the file was built anew */
};

struct upload {
	virConnectPtr libvirt;
	char *name; /* of the pool */
	virStoragePoolPtr pool;
	pthread_mutex_t lock; /* one file at a time */
	struct uploaded *files;
	size_t count;
	unsigned volumes; /* made so far: the next one's number */
};

static char *pool_name(const char *prefix)
{
	char *name = xstrdup(prefix);
	size_t length = strlen(name);

	if (length && name[length - 1] == '-')
		name[length - 1] = '\0';
	return name;
}

static xmlNodePtr text_child(xmlNodePtr parent, const char *name, const char *text)
{
	return xmlNewTextChild(parent, NULL, BAD_CAST name, BAD_CAST text);
}

static char *to_text(xmlNodePtr root)
{
	xmlDocPtr document = xmlNewDoc(BAD_CAST "1.0");
	xmlBufferPtr buffer = xmlBufferCreate();
	char *text;

	xmlDocSetRootElement(document, root);
	if (xmlNodeDump(buffer, document, root, 0, 0) < 0)
		abort();
	text = xstrdup((const char *)xmlBufferContent(buffer));
	xmlBufferFree(buffer);
	xmlFreeDoc(document);
	return text;
}

static void add_mode(xmlNodePtr target, const char *mode)
{
	text_child(xmlNewChild(target, NULL, BAD_CAST "permissions", NULL), "mode", mode);
}

static char *pool_xml(const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", POOL_FOLDER, name);
	xmlNodePtr pool = xmlNewNode(NULL, BAD_CAST "pool");
	xmlNodePtr target;

	xmlNewProp(pool, BAD_CAST "type", BAD_CAST "dir");
	text_child(pool, "name", name);
	target = xmlNewChild(pool, NULL, BAD_CAST "target", NULL);
	text_child(target, "path", path);
	add_mode(target, "0755");
	return to_text(pool);
}

static char *volume_xml(const char *name, off_t bytes)
{
	CLEANUP_FREE char *digits = xasprintf("%lld", (long long)bytes);
	xmlNodePtr volume = xmlNewNode(NULL, BAD_CAST "volume");
	xmlNodePtr target, format;

	text_child(volume, "name", name);
	text_child(volume, "capacity", digits);
	target = xmlNewChild(volume, NULL, BAD_CAST "target", NULL);
	format = xmlNewChild(target, NULL, BAD_CAST "format", NULL);
	xmlNewProp(format, BAD_CAST "type", BAD_CAST "raw");
	add_mode(target, "0644");
	return to_text(volume);
}

/* Sends the file; virStreamSendAll's callback. */
static int read_some(virStreamPtr stream, char *bytes, size_t most, void *opaque)
{
	const int *fd = opaque;
	ssize_t got;

	(void)stream;
	do
		got = read(*fd, bytes, most);
	while (got < 0 && errno == EINTR);
	return (int)got;
}

static int send_file(struct upload *upload, virStorageVolPtr volume, int fd, off_t bytes)
{
	virStreamPtr stream = virStreamNew(upload->libvirt, 0);
	int result = -1;

	if (stream && virStorageVolUpload(volume, stream, 0, (unsigned long long)bytes, 0) == 0 &&
	    virStreamSendAll(stream, read_some, &fd) == 0)
		result = virStreamFinish(stream);
	if (stream)
		virStreamFree(stream);
	return result;
}

/* Returns the path there, or NULL with libvirt's error set. */
static char *make_volume(struct upload *upload, int fd, const struct stat *status)
{
	CLEANUP_FREE char *name = xasprintf("file-%u", upload->volumes++);
	CLEANUP_FREE char *xml = volume_xml(name, status->st_size);
	virStorageVolPtr volume = virStorageVolCreateXML(upload->pool, xml, 0);
	char *there = NULL;

	if (!volume)
		return NULL;
	if (send_file(upload, volume, fd, status->st_size) == 0)
		there = virStorageVolGetPath(volume);
	virStorageVolFree(volume);
	return there;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static const char *find(const struct upload *upload, const char *path, const struct stat *status)
{
	for (size_t i = 0; i < upload->count; i++)
		if (!strcmp(upload->files[i].path, path) &&
		    same_file(&upload->files[i].status, status))
			return upload->files[i].there;
	return NULL;
}

/*
 * A persistent pool, though it does not live long: of a transient one nothing is left that could
 * delete the folder. The lock is held.
 */
static int open_pool(struct upload *upload)
{
	CLEANUP_FREE char *xml = NULL;

	if (upload->pool)
		return 0;
	xml = pool_xml(upload->name);
	upload->pool = virStoragePoolDefineXML(upload->libvirt, xml, 0);
	if (!upload->pool)
		return -1;
	if (virStoragePoolBuild(upload->pool, 0) == 0 && virStoragePoolCreate(upload->pool, 0) == 0)
		return 0;
	virStoragePoolUndefine(upload->pool);
	virStoragePoolFree(upload->pool);
	upload->pool = NULL;
	return -1;
}

/* The lock is held. */
static const char *send_once(struct upload *upload, const char *path, struct error *err)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *known;
	struct stat status;
	char *there;

	if (fd < 0 || fstat(fd, &status) < 0) {
		error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
		return NULL;
	}
	known = find(upload, path, &status);
	if (known)
		return known;
	there = open_pool(upload) == 0 ? make_volume(upload, fd, &status) : NULL;
	if (!there) {
		error_set(err, ERROR_LAB, "%s: cannot be sent to the hypervisor: %s", path,
			  virGetLastErrorMessage());
		return NULL;
	}
	upload->files = xrealloc(upload->files, (upload->count + 1) * sizeof(*upload->files));
	upload->files[upload->count++] = (struct uploaded){ xstrdup(path), there, status };
	return there;
}

char *upload_file(struct upload *upload, const char *path, struct error *err)
{
	const char *there;
	char *result;

	pthread_mutex_lock(&upload->lock);
	there = send_once(upload, path, err);
	result = there ? xstrdup(there) : NULL;
	pthread_mutex_unlock(&upload->lock);
	return result;
}

struct upload *upload_new(virConnectPtr libvirt, const char *prefix)
{
	struct upload *upload = xcalloc(1, sizeof(*upload));

	upload->libvirt = libvirt;
	upload->name = pool_name(prefix);
	pthread_mutex_init(&upload->lock, NULL);
	return upload;
}

static void remove_pool(virStoragePoolPtr pool)
{
	virStorageVolPtr *volumes = NULL;
	int count = virStoragePoolListAllVolumes(pool, &volumes, 0);

	for (int i = 0; i < count; i++) {
		virStorageVolDelete(volumes[i], 0);
		virStorageVolFree(volumes[i]);
	}
	free(volumes);
	virStoragePoolDestroy(pool);
	virStoragePoolDelete(pool, 0);
	virStoragePoolUndefine(pool);
}

void upload_free(struct upload *upload)
{
	if (!upload)
		return;
	if (upload->pool) {
		remove_pool(upload->pool);
		virStoragePoolFree(upload->pool);
	}
	for (size_t i = 0; i < upload->count; i++) {
		free(upload->files[i].path);
		free(upload->files[i].there);
	}
	free(upload->files);
	free(upload->name);
	pthread_mutex_destroy(&upload->lock);
	free(upload);
}

void upload_remove(virConnectPtr libvirt, const char *prefix)
{
	CLEANUP_FREE char *name = pool_name(prefix);
	virStoragePoolPtr pool = virStoragePoolLookupByName(libvirt, name);

	if (!pool)
		return;
	remove_pool(pool);
	virStoragePoolFree(pool);
}
