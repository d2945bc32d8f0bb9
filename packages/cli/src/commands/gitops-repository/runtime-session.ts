/** The GitOps runtime that a command calls, and how changes of its repository are printed. */
import { gitopsRuntimeCalls, type GitopsRuntimeCalls } from '@windlass/client/gitops-runtime'
import { fault } from '@windlass/kit/faults'
import { parseBaseUrl, type RepositoryChange } from '@windlass/protocol'
import type { Settings } from '../../config.ts'
import type { Printer } from '../../printer.ts'
import { openRetryingClient, openSession, type Session } from '../../session/session.ts'

/** A commit waits for others, and for the forge. Milliseconds. */
export const COMMIT_TIMEOUT = { timeoutMs: 150_000 }

export interface RuntimeSession extends Pick<Session, 'client'> {
  /** Calls of the runtime. */
  readonly calls: GitopsRuntimeCalls
}

interface Target {
  readonly runtime: string
  /** As given on the command line. */
  readonly url: string | undefined
}

/** Opens a runtime with the key of the user, at the given URL or that of its tunnel. Throws `usage` if it has neither. */
export async function openRuntime(settings: Settings, { runtime, url }: Target): Promise<RuntimeSession> {
  const { client, token, caFile } = openSession(settings)
  const found = url === undefined ? (await client.tunnels.get(runtime)).url : parseBaseUrl(url)
  if (found === undefined)
    throw fault('usage', {
      message: url === undefined ? `The runtime "${runtime}" has no URL of a tunnel.` : `"${url}" is not the URL of a runtime.`,
      hint: 'Name its URL with --runtime-url, such as https://gitops.example.com.',
    })
  return { client, calls: gitopsRuntimeCalls(openRetryingClient({ url: found, token, caFile })) }
}

/** Prints what happened to `subject`, and its commit. `verb`: what happened if there was a commit. */
export function printChange(out: Printer, subject: string, { verb, commit }: { verb: string; commit: RepositoryChange }): void {
  out.line(`${subject} ${commit.isNew ? verb : 'unchanged'}`)
  if (commit.isNew) out.note(`Commit on ${commit.branch}: ${commit.url}`)
}
