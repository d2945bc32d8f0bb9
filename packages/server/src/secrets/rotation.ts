/**
 * Rotation of the master key while the server runs. The database stores the current key and the progress, so any server can continue after a kill.
 * One pass over all sealed texts is enough: once a key is current, nothing is sealed with another one (`Vault.sealer`).
 */
import { fault } from '@windlass/kit'
import { z } from 'zod'
import type { App } from '../app.ts'
import { findMeta, lockMeta, putMeta, replaceMeta } from '../store/account/meta.ts'
import { countOldCredentials } from '../store/account/replicas.ts'
import type { Query, Tx, Within } from '../store/store.ts'
import type { MasterKey } from './master-key.ts'
import type { Ring } from './ring.ts'
import { SEALED_KINDS, type SealedKind } from './places.ts'
import type { SealedRow } from './sealed-page.ts'
import { SEALED_ROWS } from './sealed-rows.ts'
import { CURRENT_KEY, keyIdOf, type Sealer } from './vault.ts'

/** Topic that wakes servers when the current key or the keys of a server change. */
export const KEYS_TOPIC = 'master-keys'
/** Key of `meta`: JSON, see `Rotation`. */
const ROTATION = 'master-key-rotation'

const Kind = z.enum(SEALED_KINDS)

const Rotation = z.object({
  /** Id of the new key. */
  to: z.string(),
  startedAt: z.int(),
  finishedAt: z.int().optional(),
  /** Position of the pass; absent when it is complete. */
  at: z.object({ kind: Kind, after: z.string() }).optional(),
  /** Number of rewrapped texts by kind of place. */
  rewrapped: z.record(z.string(), z.int()),
  /** Number of texts that cannot be opened: damaged, or sealed with a missing key. They are left unchanged. */
  unreadable: z.int(),
  /** Ids of keys that texts are sealed with and that the rotating server did not have. */
  lacked: z.array(z.string()),
  /** True if older keys are to be removed from the ring afterwards. */
  prunes: z.boolean(),
})
export type Rotation = z.output<typeof Rotation>

/** Returns the latest rotation; undefined if there was none. */
export async function findRotation(query: Query): Promise<Rotation | undefined> {
  const text = await findMeta(query, ROTATION)
  return text === undefined ? undefined : Rotation.parse(JSON.parse(text))
}

async function lockRotation(tx: Tx): Promise<Rotation | undefined> {
  const text = await lockMeta(tx, ROTATION)
  return text === undefined ? undefined : Rotation.parse(JSON.parse(text))
}

async function saveRotation(tx: Tx, rotation: Rotation): Promise<void> {
  await putMeta(tx, ROTATION, JSON.stringify(rotation))
}

function newRotation(to: string, startedAt: number, prunes: boolean): Rotation {
  return { to, startedAt, at: { kind: SEALED_KINDS[0], after: '' }, rewrapped: {}, unreadable: 0, lacked: [], prunes }
}

/**
 * Returns the next key: the last one of the ring if it is not current, otherwise a new one that the server adds. Throws `no-new-key` if the ring
 * is a setting without a newer key.
 */
export async function prepareKey({ store, vault: { ring } }: App): Promise<MasterKey> {
  return store.write(async (tx) => {
    // Only one server at a time adds a key to the file.
    const current = await lockMeta(tx, CURRENT_KEY)
    ring.reload()
    const last = ring.keys().at(-1)
    // The other servers reload their rings too.
    tx.wake(KEYS_TOPIC)
    if (last !== undefined && last.id !== current) return last
    if (ring.source === 'setting') throw fault('no-new-key')
    return ring.add()
  })
}

interface Switch {
  readonly to: string
  readonly prunes: boolean
  readonly within?: Within<void> | undefined
}

/**
 * Makes the key current and starts the pass over everything sealed with older keys. From the commit on, everything is sealed with the new key.
 * `within` runs in the same transaction. Throws `keys-not-everywhere` if the ring of this server no longer has the key.
 */
export async function switchKey({ store, clock, vault: { ring } }: App, { to, prunes, within }: Switch): Promise<void> {
  await store.write(async (tx) => {
    const current = await lockMeta(tx, CURRENT_KEY)
    if (current === undefined || current === to) return
    // The file may have changed since the key was added.
    ring.reload()
    if (!ring.keys().some(({ id }) => id === to))
      throw fault('keys-not-everywhere', { message: `This server no longer has the master key ${to}.` })
    await replaceMeta(tx, CURRENT_KEY, { from: current, to })
    // A pending removal of older keys stays pending.
    const waits = (await lockRotation(tx))?.prunes === true
    await saveRotation(tx, newRotation(to, clock.now(), prunes || waits))
    await within?.(tx)
    tx.wake(KEYS_TOPIC)
  })
}

/** Requests the removal of older keys after the running pass, or after a new pass over everything. */
export async function requestPrune({ store, clock }: App): Promise<void> {
  await store.write(async (tx) => {
    const current = await lockMeta(tx, CURRENT_KEY)
    const known = await lockRotation(tx)
    const isRunning = known?.at !== undefined && known.to === current
    await saveRotation(tx, isRunning ? { ...known, prunes: true } : newRotation(current ?? '', clock.now(), true))
    tx.wake(KEYS_TOPIC)
  })
}

/** Continues the pass until it is complete or the server closes. Then removes unused older keys if that was requested. */
export async function continueRotation(app: App): Promise<void> {
  while (!app.closing.aborted && (await rewrapPage(app)));
  await prune(app)
}

/** Rewraps one page of sealed texts with the current key; returns false if nothing is left to do. */
export async function rewrapPage(app: App): Promise<boolean> {
  if ((await findRotation(app.store.query))?.at === undefined) return false
  return app.store.write(async (tx) => {
    const sealer = await app.vault.sealer(tx)
    // Servers that share the database take turns.
    const rotation = await lockRotation(tx)
    if (rotation?.at === undefined) return false
    const { kind, after } = rotation.at
    const { rows, next } = await SEALED_ROWS[kind](tx.query, after)
    const count = counter(app, sealer)
    for (const row of rows) {
      const value = count.changed(kind, row)
      if (value !== row.value) await row.save(tx, value)
    }
    const at = next === undefined ? follower(kind) : { kind, after: next }
    const rewrapped = { ...rotation.rewrapped, [kind]: (rotation.rewrapped[kind] ?? 0) + count.rewrapped }
    const { at: _, ...rest } = rotation
    const progress = {
      ...rest,
      rewrapped,
      unreadable: rotation.unreadable + count.unreadable,
      lacked: [...new Set([...rotation.lacked, ...count.lacked])],
    }
    await saveRotation(tx, at === undefined ? { ...progress, finishedAt: app.clock.now() } : { ...progress, at })
    return true
  })
}

function follower(kind: SealedKind): Rotation['at'] {
  const next = SEALED_KINDS[SEALED_KINDS.indexOf(kind) + 1]
  return next === undefined ? undefined : { kind: next, after: '' }
}

/** Rewraps texts and counts them. A text that cannot be opened, or a row that cannot be read, does not stop the pass. */
function counter({ log, vault }: App, sealer: Sealer) {
  const count = {
    rewrapped: 0,
    unreadable: 0,
    lacked: new Set<string>(),
    change(place: Parameters<Sealer['keep']>[0], sealed: string): string {
      try {
        const kept = sealer.keep(place, sealed)
        if (kept !== sealed) count.rewrapped += 1
        return kept
      } catch (error) {
        log.error({ err: error, kind: place.kind, place: place.path }, 'A sealed text cannot be opened.')
        count.unreadable += 1
        const keyId = keyIdOf(sealed)
        if (keyId !== undefined && vault.ring.find(keyId) === undefined) count.lacked.add(keyId)
        return sealed
      }
    },
    /** Returns the column of a row with its sealed texts rewrapped; unchanged if it cannot be read. */
    changed(kind: SealedKind, row: SealedRow): string {
      try {
        return row.changed(count.change)
      } catch (error) {
        log.error({ err: error, kind, row: row.id }, 'A row with sealed texts cannot be read.')
        count.unreadable += 1
        return row.value
      }
    },
  }
  return count
}

/** Returns the ids of the older keys of the ring that are no longer needed. */
export async function removableKeys(query: Query, ring: Ring): Promise<string[]> {
  const current = await findMeta(query, CURRENT_KEY)
  const rotation = await findRotation(query)
  if (current === undefined || rotation?.finishedAt === undefined || rotation.to !== current) return []
  // A server without this key could not open what is sealed with it.
  const lacked = new Set(rotation.lacked)
  const inUse = await countOldCredentials(query, current)
  const keys = ring.keys()
  const position = keys.findIndex(({ id }) => id === current)
  return keys
    .filter((key, index) => index < position && [key, key.first].every(({ id }) => !inUse.has(id) && !lacked.has(id)))
    .map(({ id }) => id)
}

/** Removes unneeded keys from the file. Keys of a setting are removed by the operator. */
async function prune(app: App): Promise<void> {
  const { ring } = app.vault
  const rotation = await findRotation(app.store.query)
  if (rotation?.prunes !== true || rotation.finishedAt === undefined) return
  await app.store.write(async (tx) => {
    // Credentials are created under the shared lock of the current key, so from here on none is created from an older key.
    const current = await lockMeta(tx, CURRENT_KEY)
    const latest = await lockRotation(tx)
    if (latest?.finishedAt === undefined || latest.to !== current || !latest.prunes) return
    // Another server may have added or removed keys during the pass.
    ring.reload()
    const removable = await removableKeys(tx.query, ring)
    const older = ring.keys().findIndex(({ id }) => id === current)
    if (ring.source === 'file' && removable.length > 0) ring.remove(removable)
    const isDone = ring.source === 'setting' || removable.length === older
    if (isDone) await saveRotation(tx, { ...latest, prunes: false })
  })
}
