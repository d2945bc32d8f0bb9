/**
 * Gets credentials from a command in the kubeconfig (`users[].user.exec`, client.authentication.k8s.io/v1), as kubectl does; EKS, GKE and
 * AKS use this. The command runs without a shell and without a terminal.
 */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { fault, hasCode, systemClock, type Clock } from '@windlass/kit'
import { z } from 'zod'

/** The `exec` section of a kubeconfig user. */
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
  /** Folder of the kubeconfig, against which a command with a slash is resolved. */
  readonly folder: string
  /** Passed to the command if it asks for it. */
  readonly cluster: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
}

export interface Login {
  /** Returns the current token, and renews it in the background before it expires. */
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
/** How long before its expiry a token is renewed. Milliseconds. */
const EARLY_MS = 120_000

/** Runs the command. Throws `config-invalid` with its standard error if it fails or needs a terminal. */
export async function loginByCommand(spec: ExecSpec, options: ExecOptions): Promise<Login> {
  const clock = options.clock ?? systemClock
  if (spec.interactiveMode === 'Always')
    throw fault('config-invalid', {
      message: `The login command ${spec.command} of the kubeconfig needs a terminal.`,
      hint: 'Log in with kubectl first, or use a kubeconfig with a client certificate or a token.',
    })
  let status = await runCommand(spec, options)
  if (status.token === undefined) return { clientCert: status.clientCertificateData, clientKey: status.clientKeyData }
  let renewal: Promise<void> | undefined
  const renew = async (): Promise<void> => {
    try {
      status = await runCommand(spec, options)
    } catch {
      // The old token may still work; otherwise a call fails with the message of the API server.
    } finally {
      renewal = undefined
    }
  }
  return {
    token() {
      const end = Date.parse(status.expirationTimestamp ?? '')
      if (!Number.isNaN(end) && end - clock.now() < EARLY_MS) renewal ??= renew()
      return status.token ?? ''
    },
    clientCert: status.clientCertificateData,
    clientKey: status.clientKeyData,
  }
}

async function runCommand(spec: ExecSpec, { folder, cluster, environment }: ExecOptions): Promise<Status> {
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
      { message: `The login command ${spec.command} of the kubeconfig failed: ${causeOf(error)}`, hint: hintOf(installHint) },
      error,
    )
  }
}

/** Returns the standard error of the command. Its output holds the credential and is never shown. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error.'
  if (hasCode(error, 'ENOENT')) return 'it is not installed.'
  const stderr = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim().slice(-1_000) : ''
  return stderr === '' ? 'it returned no credential.' : stderr
}

function hintOf(installHint: string | undefined): string {
  return installHint ?? 'Try the same kubeconfig with kubectl.'
}
