/** The cluster of a runner entry: that of its configuration, that of the pod of the manager, or that of a kubeconfig. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '@windlass/kit'
import { inCluster, readKubeconfig, type ClusterAccess } from '@windlass/kube'
import type { KubernetesSection } from '../../config/sections/kubernetes-section.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the access. Throws `config-invalid` if there is none, or a file of it cannot be read. */
export async function clusterAccess(section: KubernetesSection, env: Environment): Promise<ClusterAccess> {
  if (section.host !== undefined && section.host !== '') return configuredAccess(section, section.host)
  const own = inCluster(env)
  const file = env['KUBECONFIG'] ?? join(env['HOME'] ?? '', '.kube', 'config')
  const access = own ?? (existsSync(file) ? await readKubeconfig(file, section.context) : undefined)
  if (access === undefined)
    throw fault('config-invalid', {
      message:
        'The runner has no cluster. It does not run in a pod, [runners.kubernetes] does not have `host`, and no kubeconfig exists.',
      hint: 'Set KUBECONFIG, or `host` with `bearer_token` or certificates.',
    })
  return withToken(access, section.bearer_token)
}

function configuredAccess(section: KubernetesSection, host: string): ClusterAccess {
  const read = (path: string | undefined): string | undefined => (path === undefined || path === '' ? undefined : readText(path))
  return withToken(
    {
      server: host.replace(/\/+$/, ''),
      ca: read(section.ca_file),
      insecure: false,
      clientCert: read(section.cert_file),
      clientKey: read(section.key_file),
      hint: 'Check host, certificates and bearer_token of [runners.kubernetes].',
      namespace: 'default',
    },
    section.bearer_token,
  )
}

function withToken(access: ClusterAccess, token: string | undefined): ClusterAccess {
  return token === undefined || token === '' ? access : { ...access, token: () => token }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw fault('config-invalid', { message: `${path}, which [runners.kubernetes] names, cannot be read.` }, error)
  }
}

/** Identifies an access, so that runner entries with the same one share its connections. */
export function accessKey({ server, clientCert, namespace, token }: ClusterAccess, section: KubernetesSection): string {
  return JSON.stringify([server, clientCert, namespace, section.bearer_token ?? (token === undefined ? '' : 'file')])
}
