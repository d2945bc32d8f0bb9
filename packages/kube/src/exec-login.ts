/**
 * Credentials by a command that the kubeconfig names (`users[].user.exec`, client.authentication.k8s.io/v1), as kubectl gets them: this is
 * how the clusters of EKS, GKE and AKS are logged in to. The command runs without a shell and without a terminal.
 */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { fault, systemClock, type Clock } from '@windlass/kit'
import { z } from 'zod'

/** What the kubeconfig says of the command. */
export const ExecSpec = z.looseObject({
  apiVersion: z.enum(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  installHint: z.string().optional(),
  interactiveMode: z.enum(['Never', 'IfAvailable', 'Always']).optional(),
  provideClusterInfo: z.boolean().optional(),
})
export type ExecSpec = z.infer<typeof ExecSpec>

export interface ExecOptions {
  /** Folder of the kubeconfig: a command with a slash is looked for from there. */
  readonly folder: string
  /** Told to the command where it asks for it. */
  readonly cluster: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
}

export interface Login {
  /** Asks the command again, in the background, before the token runs out. */
  readonly token?: (() => string) | undefined
  readonly clientCert?: string | undefined
  readonly clientKey?: string | undefined
}

const Credential = z.looseObject({
  status: z.looseObject({
    token: z.string().optional(),
    expirationTimestamp: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
  }),
})
type Status = z.infer<typeof Credential>['status']

const TIMEOUT_MS = 60_000
const MAX_BYTES = 1_048_576
/** A token is asked for anew so long before its end. */
const EARLY_MS = 120_000

/** Runs the command. Throws `config-invalid` with what it said when it fails or wants a terminal. */
export async function loginByCommand(spec: ExecSpec, options: ExecOptions): Promise<Login> {
  const clock = options.clock ?? systemClock
  if (spec.interactiveMode === 'Always')
    throw fault('config-invalid', {
      message: `The kubeconfig logs in by ${spec.command}, which asks questions.`,
      hint: 'Log in by kubectl first, or use a kubeconfig with a client certificate or a token.',
    })
  let status = await ask(spec, options)
  if (status.token === undefined) return { clientCert: status.clientCertificateData, clientKey: status.clientKeyData }
  let asking: Promise<void> | undefined
  const renew = async (): Promise<void> => {
    try {
      status = await ask(spec, options)
    } catch {
      // The old token may still do; a call that it does not do for tells the words of the API server.
    } finally {
      asking = undefined
    }
  }
  return {
    token() {
      const end = Date.parse(status.expirationTimestamp ?? '')
      if (!Number.isNaN(end) && end - clock.now() < EARLY_MS) asking ??= renew()
      return status.token ?? ''
    },
    clientCert: status.clientCertificateData,
    clientKey: status.clientKeyData,
  }
}

async function ask(spec: ExecSpec, { folder, cluster, environment }: ExecOptions): Promise<Status> {
  const { apiVersion, args, env, installHint } = spec
  const command = spec.command.includes('/') ? resolve(folder, spec.command) : spec.command
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(spec.provideClusterInfo === true && { cluster }) },
  }
  const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]))
  try {
    const { stdout } = await promisify(execFile)(command, args ?? [], {
      env: { ...environment, ...own, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_BYTES,
    })
    return Credential.parse(JSON.parse(stdout)).status
  } catch (error) {
    throw fault(
      'config-invalid',
      { message: `The kubeconfig logs in by ${spec.command}: ${wordsOf(error)}`, hint: hintOf(installHint) },
      error,
    )
  }
}

/** Standard error of the command; its output holds the credential and is never shown. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed.'
  if ('code' in error && error.code === 'ENOENT') return 'it is not installed.'
  const said = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim().slice(-1_000) : ''
  return said === '' ? 'it gave no credential.' : said
}

function hintOf(installHint: string | undefined): string {
  return installHint ?? 'Try the same kubeconfig with kubectl.'
}
