/** `in-cluster cleanup`: before a release is uninstalled, agent and runtime leave the server, and their Secrets the cluster. */
import { systemClock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import type { Client } from '@windlass/protocol'
import { patiently, pathOf, type Place } from './place.ts'

/** How long builds that run may still take. */
const WAIT_MS = 60_000
const LOOK_MS = 3_000

/**
 * Throws `conflict` while builds run on the runtime. A key that is gone and a server that cannot be reached are told, and keep nobody from
 * uninstalling.
 */
export async function cleanUp(place: Place): Promise<void> {
  if (place.admin === undefined) leave(place, 'no API key is mounted')
  else await leaveServer(place, place.admin)
  for (const name of [place.config.AGENT_SECRET, 'codefresh-certs-server']) {
    if (name !== undefined) await removeSecret(place, name)
  }
}

async function leaveServer(place: Place, admin: Client): Promise<void> {
  const { RUNTIME: runtime, AGENT: agent } = place.config
  try {
    await remove(place, `runtime ${runtime}`, () =>
      whenIdle(() => admin.text('DELETE', pathOf('runtimes', runtime), { query: { force: true } })),
    )
    if (agent !== undefined) await remove(place, `agent ${agent}`, () => admin.text('DELETE', pathOf('agents', agent)))
  } catch (error) {
    if (!isFault(error, 'server-unreachable') && !isFault(error, 'unauthenticated')) throw error
    leave(place, error.message)
  }
}

function leave({ config, out }: Place, why: string): void {
  out.note(`The server was not asked: ${why}. On it, remove by hand: runtime ${config.RUNTIME}, agent ${config.AGENT ?? 'none'}.`)
}

async function remove({ out }: Place, what: string, call: () => Promise<unknown>): Promise<void> {
  try {
    await patiently(call)
    out.note(`${what}: removed`)
  } catch (error) {
    if (!isFault(error, 'not-found')) throw error
    out.note(`${what}: was gone`)
  }
}

/** Tries again for a while as long as builds run. */
async function whenIdle<T>(call: () => Promise<T>): Promise<T> {
  const end = systemClock.monotonic() + WAIT_MS
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isFault(error, 'conflict') || systemClock.monotonic() > end) throw error
      await systemClock.sleep(LOOK_MS)
    }
  }
}

/** A Secret that the user gave is not ours to delete, and then we have no right to. */
async function removeSecret(place: Place, name: string): Promise<void> {
  const kube = place.kube()
  try {
    await kube.delete({ kind: 'Secret', name, namespace: kube.namespace })
  } catch (error) {
    if (!isFault(error, 'cluster-refused')) throw error
  }
}
