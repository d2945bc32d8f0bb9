/** Admin operations on the master keys, and the loops that carry out a rotation on every server. */
import { attempt as guarded, defined, fault, newId } from '@windlass/kit'
import type { MasterKeys } from '@windlass/protocol'
import type { App } from '../app.ts'
import { findMeta } from '../store/account/meta.ts'
import { countOldCredentials, deleteReplica, listReplicas, recordReplica } from '../store/account/replicas.ts'
import type { Query, Within } from '../store/store.ts'
import { continueRotation, findRotation, KEYS_TOPIC, prepareKey, removableKeys, requestPrune, switchKey } from './rotation.ts'
import { readLoopLag } from '../metrics.ts'
import { VERSION } from '../version.ts'
import { CURRENT_KEY } from './vault.ts'

/** Interval in which a server reloads its keys and announces itself. Milliseconds. */
const BEAT_MS = 10_000
/** Servers silent for longer are ignored. */
export const LIVE_MS = 3 * BEAT_MS
/** Maximum wait for the other servers to load a new key. */
const WAIT_MS = 20_000
const POLL_MS = 500

/**
 * Keeps the ring of this server up to date, announces its keys to the other servers, and continues a rotation. The rotation has its own loop
 * because it takes long with many secrets, and the other servers do not wait for a server that does not announce itself.
 */
export async function keysLoop(app: App): Promise<void> {
  await Promise.all([announceLoop(app), rotationLoop(app)])
}

async function announceLoop(app: App): Promise<void> {
  const { store, closing, log } = app
  using watch = store.watch(KEYS_TOPIC)
  const replica = openReplica(app)
  while (!closing.aborted) {
    await guarded(log, 'master keys', async () => {
      app.vault.ring.reload()
      if (store.isShared) await replica.beat()
      await checkCurrent(app)
    })
    await watch.next(BEAT_MS, closing)
  }
  if (store.isShared)
    await guarded(log, 'remove this server from the list', () => store.write((tx) => deleteReplica(tx, replica.id)))
}

/** Logs an error if the ring lacks the current key: it is then only in the memory of this process, and everything sealed with it is lost when the process ends. */
async function checkCurrent({ store, vault: { ring }, log }: App): Promise<void> {
  const current = await findMeta(store.query, CURRENT_KEY)
  // The key may have been added since the ring was read.
  if (!ring.keys().some(({ id }) => id === current)) ring.reload()
  if (!ring.keys().some(({ id }) => id === current))
    log.error(
      { key: current },
      'The current master key is missing. Add it again before this server restarts, or all secrets are lost.',
    )
}

async function rotationLoop(app: App): Promise<void> {
  const { store, closing, log } = app
  using watch = store.watch(KEYS_TOPIC)
  while (!closing.aborted) {
    await guarded(log, 'rotation of the master key', () => continueRotation(app))
    await watch.next(BEAT_MS, closing)
  }
}

/** Represents this server among those that share the database. */
function openReplica({ store, clock, metrics, vault: { ring } }: App) {
  const id = newId(clock.now())
  let announced = ''
  let announcedAt = -Infinity
  return {
    id,
    async beat(): Promise<void> {
      const keys = ring.keys().map((key) => key.id)
      const isNew = announced !== keys.join()
      if (!isNew && clock.monotonic() - announcedAt < BEAT_MS) return
      const lagMs = await readLoopLag(metrics)
      await store.write(async (tx) => {
        await recordReplica(tx, { id, keys, seenAt: clock.now(), version: VERSION, lagMs }, clock.now() - LIVE_MS)
        if (isNew) tx.wake(KEYS_TOPIC)
      })
      announced = keys.join()
      announcedAt = clock.monotonic()
    },
  }
}

/**
 * Makes a new key current and starts to rewrap everything with it, or continues an unfinished rotation. `within` runs in the transaction that makes the
 * key current. Throws `no-new-key`, and `keys-not-everywhere` while another server does not have the key.
 */
export async function rotateKeys(
  app: App,
  { prune, waitMs = WAIT_MS }: { prune: boolean; waitMs?: number },
  within?: Within<MasterKeys>,
): Promise<MasterKeys> {
  const known = await findRotation(app.store.query)
  const isUnfinished = known?.at !== undefined && known.to === (await findMeta(app.store.query, CURRENT_KEY))
  if (isUnfinished) {
    if (prune) await requestPrune(app)
  } else {
    const { id } = await prepareKey(app)
    await awaitReplicas(app, id, waitMs)
    await switchKey(app, { to: id, prunes: prune, within: async (tx) => within?.(tx, await showKeys(app, tx.query)) })
  }
  return showKeys(app)
}

/** Waits until all servers have the key, because a server without it could not open what is sealed with it. */
async function awaitReplicas({ store, clock, closing }: App, keyId: string, waitMs: number): Promise<void> {
  if (!store.isShared) return
  const until = clock.monotonic() + waitMs
  using watch = store.watch(KEYS_TOPIC)
  for (;;) {
    const replicas = await listReplicas(store.query, clock.now() - LIVE_MS)
    const lacking = replicas.filter(({ keys }) => !keys.includes(keyId))
    if (lacking.length === 0) return
    if (clock.monotonic() >= until || closing.aborted)
      throw fault('keys-not-everywhere', {
        message: `${lacking.length} of ${replicas.length} servers have not loaded the master key ${keyId} yet.`,
      })
    await watch.next(POLL_MS, closing)
  }
}

/** Removes older keys once everything is sealed with the current one and no running attempt needs them. */
export async function pruneKeys(app: App): Promise<MasterKeys> {
  await requestPrune(app)
  return showKeys(app)
}

export async function showKeys(app: App, query: Query = app.store.query): Promise<MasterKeys> {
  const { ring } = app.vault
  const current = (await findMeta(query, CURRENT_KEY)) ?? ''
  // Another server may have just changed the ring.
  ring.reload()
  const [rotation, removable, inUse] = [
    await findRotation(query),
    await removableKeys(query, ring),
    await countOldCredentials(query, current),
  ]
  const keys = ring.keys()
  const position = keys.findIndex(({ id }) => id === current)
  return {
    source: ring.source,
    keys: keys.map(({ id, first }, index) => ({
      id,
      state: id === current ? 'current' : index > position ? 'next' : removable.includes(id) ? 'unused' : 'older',
      credentials: (inUse.get(id) ?? 0) + (inUse.get(first.id) ?? 0),
    })),
    ...defined({ rotation }),
  }
}
