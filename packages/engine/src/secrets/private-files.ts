/**
 * Files on the shared volume that are not kept for the next build. Those such as `event.json` are links to files of the build's own volume. The
 * kubeconfig is in a volume that is mounted over `sensitive/` and removed with the attempt.
 */
import { parseJson } from '@windlass/kit'
import { normalize, VOLUME_PATH } from '@windlass/plan'
import type { ClusterAccess } from '@windlass/protocol'
import type { pack } from 'tar-stream'
import { z } from 'zod'
import type { AttemptInput } from '../attempt/input.ts'

export const SENSITIVE_PATH = `${VOLUME_PATH}/sensitive`
/** Value of `CF_KUBECONFIG_PATH`. */
export const KUBECONFIG_PATH = `${SENSITIVE_PATH}/.kube/config`

type Archive = ReturnType<typeof pack>

/** Adds the files of an attempt: the text below `folder`, where its own volume is mounted, and a link to it on the shared volume. */
export function addFiles(tar: Archive, { files = {} }: Pick<AttemptInput, 'files'>, folder: string): void {
  for (const [name, text] of Object.entries(files)) {
    const path = normalize(`/${name}`)
    if (path === '/') continue
    tar.entry({ name: `${folder}/files${path}`.slice(1), mode: 0o644 }, text)
    tar.entry({ name: `${VOLUME_PATH}${path}`.slice(1), type: 'symlink', linkname: `${folder}/files${path}` })
  }
}

/** Returns true if steps get a kubeconfig. */
export function hasKubeconfig({ clusters = [] }: Pick<AttemptInput, 'clusters'>): boolean {
  return clusters.some(({ injected }) => injected !== false)
}

/** Returns true if `sensitive/` is not empty. */
export function hasSensitive(input: Pick<AttemptInput, 'clusters' | 'webIdentityFile'>): boolean {
  return hasKubeconfig(input) || input.webIdentityFile !== undefined
}

export function addKubeconfig(tar: Archive, { clusters = [] }: Pick<AttemptInput, 'clusters'>): void {
  const text = JSON.stringify(mergeKubeconfigs(clusters.filter(({ injected }) => injected !== false)))
  tar.entry({ name: KUBECONFIG_PATH.slice(1), mode: 0o600 }, text)
}

const Named = z.looseObject({ name: z.string() })
const Kubeconfig = z.looseObject({ clusters: z.array(Named), users: z.array(Named), contexts: z.array(Named) })

/**
 * Merges the kubeconfigs into one with a context for each cluster, named like its integration. The first is current. Those that are not JSON are
 * skipped.
 */
export function mergeKubeconfigs(clusters: readonly ClusterAccess[]): object {
  const all = clusters.flatMap(({ kubeconfig }) => {
    const parsed = Kubeconfig.safeParse(parseJson(kubeconfig))
    return parsed.success ? [parsed.data] : []
  })
  const contexts = all.flatMap((one) => one.contexts)
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: all.flatMap((one) => one.clusters),
    users: all.flatMap((one) => one.users),
    contexts,
    'current-context': contexts[0]?.name ?? '',
  }
}

const Users = z.looseObject({
  users: z.array(z.looseObject({ user: z.record(z.string(), z.unknown()) })),
})
const SECRET_FIELDS = ['token', 'password', 'client-key-data']

/** Returns the values of the kubeconfigs that must be masked in logs. */
export function kubeconfigSecrets({ clusters = [] }: Pick<AttemptInput, 'clusters'>): string[] {
  return clusters.flatMap(({ kubeconfig }) => {
    const parsed = Users.safeParse(parseJson(kubeconfig))
    const users = parsed.success ? parsed.data.users : []
    return users.flatMap(({ user }) => SECRET_FIELDS.map((field) => user[field]).filter((value) => typeof value === 'string'))
  })
}
