/** The command `in-cluster cleanup`, run before a release is uninstalled: removes agent and runtime from the server, and their Secrets. */
import { systemClock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import { removeIntegrations } from '../gitops/remove-state.ts'
import { isOutage, orUndefined } from '../session/session.ts'
import { retryUnreachable, type CommandContext } from './context.ts'

/** How long to wait for running builds. */
const WAIT_MS = 60_000
const POLL_MS = 3_000

/**
 * Throws `conflict` if builds still run on the runtime. A missing or invalid key and an unreachable server are only reported, so that the
 * release can be uninstalled anyway.
 */
export async function cleanUp(context: CommandContext): Promise<void> {
  if (context.admin === undefined) reportSkipped(context, 'no API key is mounted')
  else await removeFromServer(context, context.admin)
  await removeAppProxy(context)
  for (const name of [context.config.AGENT_SECRET, 'codefresh-certs-server']) {
    if (name !== undefined) await removeSecret(context, name)
  }
}

async function removeFromServer(context: CommandContext, admin: ApiClient): Promise<void> {
  const { RUNTIME: runtime, AGENT: agent } = context.config
  try {
    await remove(context, `runtime ${runtime}`, () => whenIdle(() => admin.runtimes.delete(runtime, { query: { force: true } })))
    if (agent !== undefined) await remove(context, `agent ${agent}`, () => admin.agents.delete(agent))
  } catch (error) {
    if (!isOutage(error) && !isFault(error, 'unauthenticated')) throw error
    reportSkipped(context, error.message)
  }
}

function reportSkipped({ config, out }: CommandContext, why: string): void {
  out.note(
    `Nothing was removed from the server: ${why}. Remove manually: runtime ${config.RUNTIME}, agent ${config.AGENT ?? 'none'}.`,
  )
}

async function remove({ out }: CommandContext, what: string, call: () => Promise<unknown>): Promise<void> {
  const removed = await retryUnreachable(() => orUndefined(call().then(() => true)))
  out.note(`${what}: ${removed === true ? 'removed' : 'already removed'}`)
}

/** Retries for up to `WAIT_MS` while builds run. */
async function whenIdle<T>(call: () => Promise<T>): Promise<T> {
  const end = systemClock.monotonic() + WAIT_MS
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isFault(error, 'conflict') || systemClock.monotonic() > end) throw error
      await systemClock.sleep(POLL_MS)
    }
  }
}

/** Removes the app-proxy from the server, and what it has stored in the namespace. */
async function removeAppProxy(context: CommandContext): Promise<void> {
  const { APP_PROXY: name, APP_PROXY_SECRET: secret } = context.config
  if (name === undefined) return
  const kube = context.kube()
  try {
    const { admin } = context
    if (admin !== undefined) await remove(context, `app-proxy ${name}`, () => admin.gitopsRuntimes.delete(name))
  } catch (error) {
    if (!isOutage(error) && !isFault(error, 'unauthenticated')) throw error
  }
  await removeIntegrations(kube, kube.namespace)
  if (secret !== undefined) await removeSecret(context, secret)
}

/** Deletes a Secret. The command has no permission to delete a Secret that the user provided, which is ignored. */
async function removeSecret(context: CommandContext, name: string): Promise<void> {
  const kube = context.kube()
  try {
    await kube.delete({ kind: 'Secret', name, namespace: kube.namespace })
  } catch (error) {
    if (!isFault(error, 'cluster-refused')) throw error
  }
}
