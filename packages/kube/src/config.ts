/**
 * Reads the access to a cluster from a kubeconfig file (client certificate, token or login command) or from the service account of the pod.
 */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fault } from '@windlass/kit'
import { z } from 'zod'
import { ExecSpec, loginByCommand } from './exec-login.ts'

export interface ClusterAccess {
  /** Base URL of the API server. */
  readonly server: string
  readonly ca?: string | undefined
  /** True if the kubeconfig turns off verification of the server; false by default. */
  readonly insecure: boolean
  readonly clientCert?: string | undefined
  readonly clientKey?: string | undefined
  /** Called before each call, because service account tokens are replaced on disk every hour. */
  readonly token?: (() => string) | undefined
  /** What to do if the API server does not accept the credentials. A sentence in the imperative. */
  readonly hint?: string | undefined
  /** Namespace of the context or of the pod. */
  readonly namespace: string
}

const ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount'

const Named = { name: z.string() }
const Kubeconfig = z.object({
  'current-context': z.string().optional(),
  contexts: z
    .array(z.object({ ...Named, context: z.object({ cluster: z.string(), user: z.string(), namespace: z.string().optional() }) }))
    .default([]),
  clusters: z
    .array(
      z.object({
        ...Named,
        cluster: z.object({
          server: z.string(),
          'certificate-authority': z.string().optional(),
          'certificate-authority-data': z.string().optional(),
          'insecure-skip-tls-verify': z.boolean().optional(),
        }),
      }),
    )
    .default([]),
  users: z
    .array(
      z.object({
        ...Named,
        user: z.looseObject({
          'client-certificate': z.string().optional(),
          'client-certificate-data': z.string().optional(),
          'client-key': z.string().optional(),
          'client-key-data': z.string().optional(),
          token: z.string().optional(),
          tokenFile: z.string().optional(),
          exec: ExecSpec.optional(),
        }),
      }),
    )
    .default([]),
})
type KubeconfigUser = z.infer<typeof Kubeconfig>['users'][number]['user']

/** Reads a kubeconfig file and runs its login command, if any. Throws `config-invalid` if it cannot be used. */
export async function readKubeconfig(path: string, contextName?: string): Promise<ClusterAccess> {
  // Loaded on demand: a process inside a cluster does not need it.
  const { parseDocument } = await import('yaml')
  const document = parseDocument(readText(path), { prettyErrors: false })
  const [broken] = document.errors
  if (broken !== undefined)
    throw fault('config-invalid', {
      message: `${path} is not YAML: ${broken.message}`,
      hint: 'Correct the file, or name another kubeconfig.',
    })
  const parsed = Kubeconfig.safeParse(document.toJS())
  if (!parsed.success)
    throw fault('config-invalid', {
      message: `${path} is not a kubeconfig: ${parsed.error.message}`,
      hint: 'Name the file of a kubeconfig.',
    })
  const wanted = contextName ?? parsed.data['current-context']
  const context = parsed.data.contexts.find(({ name }) => name === wanted)?.context
  if (context === undefined)
    throw fault('config-invalid', {
      message: wanted === undefined ? `${path} has no current context.` : `${path} has no context "${wanted}".`,
      hint: 'Set it with `kubectl config use-context NAME`, or name a context.',
    })
  const cluster = parsed.data.clusters.find(({ name }) => name === context.cluster)?.cluster
  const user = parsed.data.users.find(({ name }) => name === context.user)?.user
  if (cluster === undefined || user === undefined)
    throw fault('config-invalid', {
      message: `${path} has no cluster or no user for the context "${wanted}".`,
      hint: 'Add both to the file, or name another context.',
    })
  refuseUnsupportedLogins(path, user)
  const pemOf = (data: string | undefined, file: string | undefined): string | undefined => {
    if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8')
    return file === undefined ? undefined : readText(resolve(dirname(path), file))
  }
  const login =
    user.exec === undefined
      ? undefined
      : await loginByCommand(user.exec, { folder: dirname(path), cluster, environment: process.env })
  return {
    server: cluster.server.replace(/\/+$/, ''),
    ca: pemOf(cluster['certificate-authority-data'], cluster['certificate-authority']),
    insecure: cluster['insecure-skip-tls-verify'] ?? false,
    clientCert: login?.clientCert ?? pemOf(user['client-certificate-data'], user['client-certificate']),
    clientKey: login?.clientKey ?? pemOf(user['client-key-data'], user['client-key']),
    token: login?.token ?? tokenOf(user, path),
    hint: 'Log in to the cluster again, or name another kubeconfig.',
    namespace: context.namespace ?? 'default',
  }
}

function tokenOf(user: KubeconfigUser, path: string): (() => string) | undefined {
  const { token, tokenFile } = user
  if (tokenFile !== undefined) return () => readText(resolve(dirname(path), tokenFile)).trim()
  return token === undefined ? undefined : () => token
}

function refuseUnsupportedLogins(path: string, user: KubeconfigUser): void {
  for (const key of ['auth-provider', 'username'])
    if (user[key] !== undefined)
      throw fault('config-invalid', {
        message: `${path} uses the login method \`${key}\`, which is not supported.`,
        hint: 'Use a client certificate or a service account token.',
      })
}

/**
 * Returns the access to the cluster that a process works on: that of its kubeconfig, else the one it runs in. `setting` names the variable
 * of the kubeconfig. Throws `config-invalid` if there is neither.
 */
export async function accessOf(
  kubeconfig: string | undefined,
  { environment, setting }: { readonly environment: Readonly<Record<string, string | undefined>>; readonly setting: string },
): Promise<ClusterAccess> {
  const access = kubeconfig === undefined ? inCluster(environment) : await readKubeconfig(kubeconfig)
  if (access !== undefined) return access
  throw fault('config-invalid', {
    message: `The process does not run in a pod, and ${setting} is not set.`,
    hint: 'Name a kubeconfig with this setting, or run the process in a pod.',
  })
}

/** Returns the access of the pod that this process runs in, or undefined outside of a cluster. */
export function inCluster(
  env: Readonly<Record<string, string | undefined>>,
  dir: string = ACCOUNT_DIR,
): ClusterAccess | undefined {
  const host = env['KUBERNETES_SERVICE_HOST']
  if (host === undefined) return undefined
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443'
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca: readText(`${dir}/ca.crt`),
    insecure: false,
    token: () => readText(`${dir}/token`).trim(),
    hint: 'Check that the service account of the pod exists, then restart the pod.',
    namespace: readText(`${dir}/namespace`).trim(),
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw fault(
      'config-invalid',
      { message: `${path} cannot be read.`, hint: 'Check the path and the permissions of the file.' },
      error,
    )
  }
}
