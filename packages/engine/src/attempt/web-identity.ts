/**
 * The role of a cloud account that the engine's service account stands for, handed on to steps (runner specification 8.3): the identity webhook
 * of the cluster gives the engine's pod two variables and a token that the kubelet renews; steps find both, with the token on the shared volume.
 */
import { readFile } from 'node:fs/promises'
import { ticks, type Clock, type Logger } from '@windlass/kit'
import type { AttemptInput } from './input.ts'
import { SENSITIVE_PATH } from './private-files.ts'
import { archive, type Workspace } from './workspace.ts'

/** Where steps find the token. */
const TOKEN_PATH = `${SENSITIVE_PATH}/.kube/web_id_token`
/** Variables that steps get as they are. */
const HANDED_ON = ['AWS_ROLE_ARN', 'AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_STS_REGIONAL_ENDPOINTS']
/** How often it is looked whether the kubelet has renewed the token; it does so when four fifths of its life are over. */
const LOOK_MS = 60_000

type Env = Readonly<Record<string, string | undefined>>

/** The input with the role's variables below all others; as it is where the pod has no role. */
export function withWebIdentity<I extends AttemptInput>(input: I, env: Env): I {
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: file } = env
  if (role === undefined || file === undefined) return input
  const known = HANDED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, { value: env[name] }] as const]))
  const variables = { ...Object.fromEntries(known), AWS_WEB_IDENTITY_TOKEN_FILE: { value: TOKEN_PATH } }
  const plan = { ...input.plan, variables: [{ level: 'runtime' as const, variables }, ...input.plan.variables] }
  return { ...input, plan, webIdentityFile: file }
}

export interface IdentityOptions {
  readonly file: string
  readonly workspace: Pick<Workspace, 'unpack'>
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the attempt ends. */
  readonly signal: AbortSignal
}

/** Copies the token once before it resolves, and later whenever it has changed. A token that cannot be read is logged: steps tell what they miss. */
export async function keepWebIdentity(options: IdentityOptions): Promise<void> {
  const last = await copyToken(options, undefined)
  renew(options, last).catch((error: unknown) => {
    if (!options.signal.aborted) options.log.warn({ err: error }, 'the web identity token is not renewed any more')
  })
}

async function renew(options: IdentityOptions, first: string | undefined): Promise<void> {
  let last = first
  for await (const _ of ticks(LOOK_MS, options)) last = await copyToken(options, last)
}

async function copyToken({ file, workspace, log }: IdentityOptions, last: string | undefined): Promise<string | undefined> {
  try {
    const token = await readFile(file, 'utf8')
    if (token === last) return last
    await workspace.unpack('/', await archive((tar) => tar.entry({ name: TOKEN_PATH.slice(1), mode: 0o644 }, token)))
    return token
  } catch (error) {
    log.warn({ err: error, file }, 'the web identity token cannot be handed on')
    return last
  }
}
