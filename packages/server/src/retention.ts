/** Deletes data whose time is over, first logs and builds, and replaces the keys that sign ID tokens of steps when they are due. */
import { attempt, ticks } from '@windlass/kit'
import type { App } from './app.ts'
import { retainBuilds } from './retain-builds.ts'
import { deleteDeadObjects } from './logs/objects/compact.ts'
import { inOrder } from './logs/in-order.ts'
import { hourFolder, isObjectKey } from './logs/objects/object-keys.ts'
import { IDLE_MS } from './identity/sessions/sessions.ts'
import { rotateSigningKeys } from './identity/step-tokens/keys.ts'
import { recordLostCalls } from './gitops/calls.ts'
import { findMeta, putMeta } from './store/account/meta.ts'
import { deleteLeftKeyUses, deleteOldKeys } from './store/access/api-keys.ts'
import { deleteOldAudit } from './store/access/audit.ts'
import { deleteOldDeviceCodes } from './store/access/device-codes.ts'
import { deleteOldLinks } from './store/access/links.ts'
import { deleteLeftVersions } from './store/pipelines/pipeline-versions.ts'
import { deleteLeftPreferences } from './store/access/preferences.ts'
import { deleteOldSessions } from './store/access/sessions.ts'
import { deleteOldInvitations } from './store/access/users.ts'
import { deleteEndedOutput } from './store/builds/terminals.ts'
import { deleteOldJobs } from './store/runtimes/agent-jobs.ts'
import { deleteEndedApplications } from './store/runtimes/applications.ts'
import { deleteOldImageReports } from './store/runtimes/image-reports.ts'
import { deleteEndedObjects, deleteUnnamedObjects } from './store/runtimes/reported-objects.ts'
import { deleteOldReleases } from './store/runtimes/releases.ts'
import { deleteOldRuntimeCalls } from './store/runtimes/runtime-calls.ts'
import { deleteOldGitlabJobs, deleteOldGitlabManagers } from './store/runtimes/gitlab-jobs.ts'
import { deleteLeftDisks, deleteRemovedDisks } from './store/runtimes/disks.ts'
import { deleteOldMessages } from './store/messages.ts'
import { deleteOldDeliveries } from './store/triggers/deliveries.ts'
import { deleteOldPullRequests } from './store/triggers/pull-requests.ts'
import {
  deleteLeftRows,
  deleteOldReplies,
  deleteOldTasks,
  deleteTakenPairs,
  LEFT_TABLES,
  listLeftBuilds,
  listUnreferencedObjects,
  type LeftPage,
} from './store/retention.ts'
import type { Tx } from './store/store.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** How long deliveries of webhooks are kept. For this time a second delivery of an event builds nothing. Days. */
const DELIVERY_DAYS = 30
/** How long messages to other services are kept after they were sent or given up. Days. */
const MESSAGE_DAYS = 30
/** How long the commit of a pull request without events is known. Days. */
const PULL_REQUEST_DAYS = 180
/** Objects younger than this may belong to rows that are not committed yet. */
const MIN_ORPHAN_AGE_MS = HOUR_MS
/** Key of `meta`: the hour, in hours since the epoch, up to which orphans were deleted. */
const ORPHANS_META = 'orphans-until'
const BATCH = 200
/** How long an expired key is still shown. */
const EXPIRED_KEY_DAYS = 30
/** How long the end of a call at an app-proxy is still accepted after the audit log has said that it is not known. */
const LOST_CALL_DAYS = 30
/** How long workflows are shown after they are gone from their cluster. */
const WORKFLOW_DAYS = 7
/** How long objects are kept that the full states of their runtime do not name. */
const UNNAMED_DAYS = 7
/** Records of the audit log per transaction. */
const RECORDS = 1_000
/** Number of objects that are deleted at once. */
const DELETES = 4

/** Deletes old data every `retainMs`, one batch at a time, until the server closes. */
export async function retainLoop(app: App): Promise<void> {
  for await (const n of ticks(app.timings.retainMs, { clock: app.clock, signal: app.closing, jitter: 0.2 })) {
    if (n > 0) await retain(app)
  }
}

/** Deletes everything that is due once; stops early when the server closes. A kind of data whose deletion fails is logged, and the others are deleted. */
export async function retain(app: App): Promise<void> {
  const { store, retention } = app
  const now = app.clock.now()
  const oldTasks = now - retention.taskDays * DAY_MS
  const oldGitlabJobs = now - retention.gitlabJobDays * DAY_MS
  const inWrite = (remove: (tx: Tx) => Promise<unknown>) => () => store.write(remove)
  const inBatches = (remove: (tx: Tx, old: Old) => Promise<number>, old: Old) => () => deleteInBatches(app, remove, old)
  const kinds: Readonly<Record<string, () => Promise<unknown>>> = {
    builds: () => retainBuilds(app, now),
    'rows without a build': () => deleteLeft(app),
    'dead objects': () => deleteDeadObjects(app),
    tasks: inWrite((tx) => deleteOldTasks(tx, oldTasks)),
    'jobs of agents': inWrite((tx) => deleteOldJobs(tx, oldTasks)),
    'removed disks': inWrite((tx) => deleteRemovedDisks(tx, now - DAY_MS)),
    'disks of deleted agents': inWrite(deleteLeftDisks),
    pairs: inWrite((tx) => deleteTakenPairs(tx, oldTasks)),
    replies: inWrite((tx) => deleteOldReplies(tx, now - retention.idempotencyHours * HOUR_MS)),
    sessions: inWrite((tx) => deleteOldSessions(tx, { now, idleSince: now - IDLE_MS })),
    invitations: inWrite((tx) => deleteOldInvitations(tx, now)),
    'device codes': inWrite((tx) => deleteOldDeviceCodes(tx, now)),
    keys: inWrite((tx) => deleteOldKeys(tx, now - EXPIRED_KEY_DAYS * DAY_MS)),
    'uses of keys': inWrite(deleteLeftKeyUses),
    'versions of pipelines': inWrite(deleteLeftVersions),
    preferences: inWrite(deleteLeftPreferences),
    links: inWrite((tx) => deleteOldLinks(tx, now)),
    'output of terminals': inWrite((tx) => deleteEndedOutput(tx, now - HOUR_MS)),
    'signing keys': () => rotateSigningKeys(app),
    'audit records': inBatches((tx, old) => deleteOldAudit(tx, { ...old, accountId: app.accountId }), {
      before: now - retention.auditDays * DAY_MS,
      limit: RECORDS,
    }),
    'jobs of GitLab': inBatches(deleteOldGitlabJobs, { before: oldGitlabJobs, limit: BATCH }),
    'managers of GitLab runners': inWrite((tx) => deleteOldGitlabManagers(tx, oldGitlabJobs)),
    'calls at app-proxies': () => recordLostCalls(app),
    'lost calls at app-proxies': inWrite((tx) => deleteOldRuntimeCalls(tx, now - LOST_CALL_DAYS * DAY_MS)),
    releases: inBatches(deleteOldReleases, { before: now - retention.buildDays * DAY_MS, limit: BATCH }),
    'reports of images': inBatches(deleteOldImageReports, { before: now - retention.buildDays * DAY_MS, limit: BATCH }),
    'ended applications': inBatches(deleteEndedApplications, { before: now - DAY_MS, limit: BATCH }),
    'ended rollouts': inBatches((tx, old) => deleteEndedObjects(tx, { ...old, kinds: ['Rollout', 'ReplicaSet'] }), {
      before: now - DAY_MS,
      limit: BATCH,
    }),
    'ended workflows': inBatches((tx, old) => deleteEndedObjects(tx, { ...old, kinds: ['Workflow'] }), {
      before: now - WORKFLOW_DAYS * DAY_MS,
      limit: BATCH,
    }),
    'objects that reporters do not name': inBatches(
      (tx, old) => deleteUnnamedObjects(tx, { ...old, maxMs: UNNAMED_DAYS * DAY_MS }),
      {
        before: now - UNNAMED_DAYS * DAY_MS,
        limit: BATCH,
      },
    ),
    deliveries: inBatches(deleteOldDeliveries, { before: now - DELIVERY_DAYS * DAY_MS, limit: BATCH }),
    messages: inBatches(deleteOldMessages, { before: now - MESSAGE_DAYS * DAY_MS, limit: BATCH }),
    'pull requests': inWrite((tx) => deleteOldPullRequests(tx, now - PULL_REQUEST_DAYS * DAY_MS)),
    'unreferenced objects': () => deleteOrphans(app, now),
  }
  for (const [kind, work] of Object.entries(kinds)) await attempt(app.log, `retention of ${kind}`, work)
}

interface Old {
  readonly before: number
  readonly limit: number
}

async function deleteInBatches(app: App, remove: (tx: Tx, old: Old) => Promise<number>, old: Old): Promise<void> {
  while (!app.closing.aborted) if ((await app.store.write((tx) => remove(tx, old))) < old.limit) break
}

/** Deletes what a server of an earlier version left of the builds and logs that it deleted. */
async function deleteLeft({ store, closing }: App): Promise<void> {
  for (const table of LEFT_TABLES) {
    let after: string | undefined = ''
    while (after !== undefined && !closing.aborted) {
      // There are hardly ever such rows, so that the pages are read without a write.
      const { left, next }: LeftPage = await listLeftBuilds(store.query, { table, after, limit: BATCH })
      if (left.length > 0) await store.write((tx) => deleteLeftRows(tx, table, left))
      after = next
    }
  }
}

async function deleteUnreferenced(app: App, objects: readonly string[]): Promise<void> {
  const dead = await listUnreferencedObjects(app.store.query, objects)
  for await (const _ of inOrder(dead, DELETES, (object) => app.logs.objects.delete(object)));
}

/**
 * Deletes objects whose rows were never written, because the process ended between the two. Objects are in folders by the hour of their key, with
 * thousands of objects each. Each hour is scanned once it is old enough; two servers may scan the same hour, which is harmless. The first scan covers
 * all objects.
 */
async function deleteOrphans(app: App, now: number): Promise<void> {
  const age = Math.max(MIN_ORPHAN_AGE_MS, app.retention.unusedLogHours * HOUR_MS)
  const until = Math.floor((now - age) / HOUR_MS)
  const known = await findMeta(app.store.query, ORPHANS_META)
  const folders = known === undefined ? [''] : []
  for (let hour = Number(known); hour < until; hour += 1) folders.push(hourFolder(hour * HOUR_MS))
  for (const folder of folders) {
    if (app.closing.aborted) return
    await deleteOrphansIn(app, folder, { hour: hourFolder(until * HOUR_MS), writtenBefore: now - MIN_ORPHAN_AGE_MS })
  }
  if (folders.length > 0 && !app.closing.aborted) await app.store.write((tx) => putMeta(tx, ORPHANS_META, String(until)))
}

interface Orphans {
  /** The first hour that is not deleted. */
  readonly hour: string
  /** An object may be completed long after the time in its key. */
  readonly writtenBefore: number
}

/** Deletes unreferenced objects. */
async function deleteOrphansIn(app: App, folder: string, { hour, writtenBefore }: Orphans): Promise<void> {
  let old: string[] = []
  const flush = async (): Promise<void> => {
    await deleteUnreferenced(app, old)
    old = []
  }
  for await (const { key, modifiedAt } of app.logs.objects.list(folder)) {
    if (app.closing.aborted) return
    if (isObjectKey(key) && key < hour && modifiedAt < writtenBefore) old.push(key)
    if (old.length >= BATCH) await flush()
  }
  await flush()
}
