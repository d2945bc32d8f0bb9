/** What an agent gets to check a context: where it leads, and its credentials. Called when a job is handed out, so that they are stored only in the context. */
import { defined, fault } from '@windlass/kit'
import { findReferences } from '@windlass/plan'
import { AppForge, type CheckedTarget } from '@windlass/protocol'
import type { App } from '../app.ts'
import { listContexts } from '../store/account/contexts.ts'
import type { ContextRow } from '../store/schema/schema.ts'
import { openContextData } from './context-data.ts'
import { readPipelinesNaming } from './context-use.ts'
import { readStoredLogin } from './git-login.ts'
import { readStoredKubeconfig } from './stored-kubeconfig.ts'

/** Keys of a store that one check compares. */
const MAX_KEYS = 100
const MAX_KEY_LENGTH = 300

/** Throws `forge-unreachable` or `forge-refused` for an expired token, `request-invalid` for a kubeconfig that cannot be used. */
export async function toCheckedTarget(app: App, row: ContextRow): Promise<CheckedTarget> {
  if (row.type === 'git') return toGitTarget(app, row)
  const data = openContextData(app.vault, row)
  if (row.type === 'registry') {
    const { domain = '', username, password } = data
    return { type: 'registry', domain, ...defined({ username, password }) }
  }
  if (row.type === 'kubernetes') {
    const read = await readStoredKubeconfig(app, data['kubeconfig'] ?? '', row.name)
    if ('problem' in read)
      throw fault('request-invalid', { message: `The kubeconfig of the context cannot be used. ${read.problem}` })
    return { type: 'kubernetes', kubeconfig: read.json }
  }
  if (row.type !== 'secret-store') throw fault('context-not-checkable')
  const { url = '', mount = 'secret', token = '', path, namespace, resourceName, resourceType } = data
  const references = await listReferences(app, row)
  if (resourceName === undefined) {
    const named = references.flatMap(({ resource = path, key }) => (resource === undefined ? [] : [{ resource, key }]))
    const keys = Object.fromEntries(
      [...Map.groupBy(named, ({ resource }) => resource)].map(([resource, of]) => [resource, of.map(({ key }) => key)]),
    )
    return { type: 'secret-store', url, mount, token, keys, ...defined({ path, namespace }) }
  }
  const own = references.filter(({ resource }) => resource === undefined || resource === resourceName)
  const kind = resourceType === 'configmap' ? 'ConfigMap' : 'Secret'
  return { type: 'cluster-object', kind, name: resourceName, keys: own.map(({ key }) => key) }
}

function toGitTarget(app: App, row: ContextRow): CheckedTarget {
  const { url, username, password, sshPrivateKey, sshKnownHosts, expired } = readStoredLogin(app, row)
  if (expired !== undefined) throw fault(expired.mayRetry ? 'forge-unreachable' : 'forge-refused', { message: expired.problem })
  const forge = AppForge.safeParse(openContextData(app.vault, row)['oauthForge']).data
  const has = { hasSshKey: sshPrivateKey !== undefined, hasKnownHosts: sshKnownHosts !== undefined }
  return { type: 'git', url, ...has, ...defined({ username, password, forge }) }
}

interface StoreReference {
  /** Undefined for the secret that the context names. */
  readonly resource: string | undefined
  readonly key: string
}

/** Lists what stored documents and settings of pipelines read from a store. Documents in repositories are not known here. */
async function listReferences(app: App, { name }: ContextRow): Promise<StoreReference[]> {
  const prefix = `secrets.${name}.`
  const stores = (await listContexts(app.store.query, app.accountId)).filter(({ type }) => type === 'secret-store')
  // Of several stores whose names fit, a reference means the longest.
  const others = stores.map((one) => `secrets.${one.name}.`).filter((other) => other.length > prefix.length)
  const isOwn = (text: string): boolean => text.startsWith(prefix) && !others.some((other) => text.startsWith(other))
  const found = new Map<string, StoreReference>()
  for await (const { document, settings } of readPipelinesNaming(app, prefix))
    for (const reference of [document, settings].flatMap(findReferences)) {
      const text = reference.name.trim()
      const read = isOwn(text) ? toStoreReference(text.slice(prefix.length)) : undefined
      if (read !== undefined) found.set(text, read)
      if (found.size === MAX_KEYS) return [...found.values()]
    }
  return [...found.values()]
}

/** Reads `key` or `resource@key`. Returns undefined for other texts. */
function toStoreReference(text: string): StoreReference | undefined {
  const at = text.lastIndexOf('@')
  const key = text.slice(at + 1)
  return key === '' || text.length > MAX_KEY_LENGTH ? undefined : { resource: at < 0 ? undefined : text.slice(0, at), key }
}
