/**
 * Passes the cloud role of the engine's service account to steps. The identity webhook of the cluster gives the engine's pod two variables and a
 * token that the kubelet renews. Steps get both, with the token on the shared volume.
 */
import { readFile } from 'node:fs/promises'
import { ticks, type Clock, type Logger } from '@windlass/kit'
import type { AttemptInput } from '../attempt/input.ts'
import { SENSITIVE_PATH } from './private-files.ts'
import { archive, type Workspace } from '../attempt/workspace.ts'

/** Path of the token in steps. */
const TOKEN_PATH = `${SENSITIVE_PATH}/.kube/web_id_token`
/** Variables that steps get unchanged. */
const FORWARDED = ['AWS_ROLE_ARN', 'AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_STS_REGIONAL_ENDPOINTS']
/** How often to check for a renewed token. Milliseconds. The kubelet renews it after four fifths of its lifetime. */
const POLL_MS = 60_000

type Env = Readonly<Record<string, string | undefined>>

/** Returns the input with the role's variables at the lowest level, or unchanged if the pod has no role. */
export function withWebIdentity<I extends AttemptInput>(input: I, env: Env): I {
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: file } = env
  if (role === undefined || file === undefined) return input
  const known = FORWARDED.flatMap((name) => (env[name] === undefined ? [] : [[name, { value: env[name] }] as const]))
  const variables = { ...Object.fromEntries(known), AWS_WEB_IDENTITY_TOKEN_FILE: { value: TOKEN_PATH } }
  const plan = { ...input.plan, variables: [{ level: 'runtime' as const, variables }, ...input.plan.variables] }
  return { ...input, plan, webIdentityFile: file }
}

export interface IdentityOptions {
  readonly file: string
  readonly workspace: Pick<Workspace, 'unpack'>
  readonly clock: Clock
  readonly log: Logger
  /** Aborted at the end of the attempt. */
  readonly signal: AbortSignal
}

/** Copies the token before it resolves, and again whenever it changes. Failures to read it are only logged: steps fail with their own message. */
export async function keepWebIdentity(options: IdentityOptions): Promise<void> {
  const last = await copyToken(options, undefined)
  renew(options, last).catch((error: unknown) => {
    if (!options.signal.aborted) options.log.warn({ err: error }, 'the web identity token is no longer renewed')
  })
}

async function renew(options: IdentityOptions, first: string | undefined): Promise<void> {
  let last = first
  for await (const _ of ticks(POLL_MS, options)) last = await copyToken(options, last)
}

async function copyToken({ file, workspace, log }: IdentityOptions, last: string | undefined): Promise<string | undefined> {
  try {
    const token = await readFile(file, 'utf8')
    if (token === last) return last
    await workspace.unpack('/', await archive((tar) => tar.entry({ name: TOKEN_PATH.slice(1), mode: 0o644 }, token)))
    return token
  } catch (error) {
    log.warn({ err: error, file }, 'the web identity token cannot be copied')
    return last
  }
}
