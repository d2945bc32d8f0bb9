/** Service integrations of the runtime: logins of registries and Jira, sealed and committed in the name of the caller (docs/development/adr/0158-sealed-integrations.md). */
import {
  readSealedService,
  sealedServiceFile,
  serviceFolder,
  servicePath,
  serviceSecretName,
  type RuntimePlace,
} from '@windlass/gitops'
import { defined, fault, type Clock } from '@windlass/kit'
import type {
  JiraIntegrationInput,
  RegistryIntegrationInput,
  RepositoryChange,
  ServiceIntegration,
  ServiceIntegrationChange,
  ServiceType,
} from '@windlass/protocol'
import { noteSubject } from '../audit/call.ts'
import { readSealingKey, type SealingServer } from '../sealed/certificate.ts'
import { seal } from '../sealed/seal.ts'
import { readIfText, type RepositoryView } from './repository-view.ts'
import { foreignFile, oneFile, requireRuntime } from './shared-configuration.ts'
import type { SharedRepositories } from './shared-repository.ts'
import type { GitopsCall } from './user-repositories.ts'

/** Integrations of a runtime, and files that are read at once. */
const MAX_INTEGRATIONS = 100
const READS = 8
/** What Docker calls Docker Hub. */
const DOCKER_HUB = 'https://index.docker.io/v1/'

export interface ServiceIntegrations {
  /** Lists them by type and name, without their logins. Files that are something else are left out. */
  list(call: GitopsCall): Promise<readonly ServiceIntegration[]>
  /** Creates or replaces one. Each call makes a commit, because nobody can compare what is sealed. Throws `not-supported` without a controller of Sealed Secrets. */
  putRegistry(call: GitopsCall, name: string, input: RegistryIntegrationInput): Promise<ServiceIntegrationChange>
  putJira(call: GitopsCall, name: string, input: JiraIntegrationInput): Promise<ServiceIntegrationChange>
  /** Removes one. Argo CD deletes its Secret. Throws `not-found`. */
  remove(call: GitopsCall, type: ServiceType, name: string): Promise<RepositoryChange>
}

export interface ServiceIntegrationsOptions {
  readonly shared: SharedRepositories
  readonly place: RuntimePlace
  /** The controller of Sealed Secrets. */
  readonly sealing: SealingServer | undefined
  readonly clock: Clock
}

interface Login {
  readonly type: ServiceType
  readonly name: string
  readonly place: string
  readonly message: string | undefined
  /** Values by the keys of the Secret. */
  readonly values: Readonly<Record<string, string>>
}

export function openServiceIntegrations({ shared, place, sealing, clock }: ServiceIntegrationsOptions): ServiceIntegrations {
  const { runtime, namespace } = place

  async function put(call: GitopsCall, { type, name, place: at, message, values }: Login): Promise<ServiceIntegrationChange> {
    noteSubject(`${type} integration ${name}`)
    if (sealing === undefined)
      throw fault('not-supported', {
        message: 'The GitOps runtime has no controller of Sealed Secrets, so logins cannot be kept in Git.',
        hint: 'Install Sealed Secrets beside it, and set `app-proxy.config.sealedSecretsUrl` of its chart.',
      })
    const repository = await shared.open(call)
    repository.requirePush()
    const key = await readSealingKey(sealing, clock)
    const secret = serviceSecretName(type, name)
    const encryptedData = Object.fromEntries(
      Object.entries(values).map(([field, value]) => [field, seal(key, { namespace, name: secret }, value)]),
    )
    const path = servicePath(runtime, type, name)
    const { commit } = await repository.change(async (view) => {
      await requireRuntime(view, runtime)
      const before = await view.read(path)
      if (before !== undefined && readSealedService(before) === undefined) throw foreignFile(path)
      if (before === undefined) await requireRoom(view)
      const verb = before === undefined ? 'Add' : 'Replace'
      return {
        message: message ?? `${verb} the ${type} integration ${name} of the GitOps runtime ${runtime}`,
        files: oneFile(path, sealedServiceFile({ type, name, place: at, namespace, encryptedData })),
        result: undefined,
      }
    })
    return { integration: { type, name, place: at, secret, file: path }, commit }
  }

  async function requireRoom(view: RepositoryView): Promise<void> {
    if ((await view.entries(serviceFolder(runtime))).length < MAX_INTEGRATIONS) return
    throw fault('conflict', {
      message: `The GitOps runtime has ${MAX_INTEGRATIONS} integrations.`,
      hint: 'Remove those that are not used.',
    })
  }

  return {
    async list(call) {
      const view = await (await shared.open(call)).view()
      const folder = serviceFolder(runtime)
      const paths = (await view.entries(folder))
        .filter(({ name, type }) => type === 'file' && name.endsWith('.yaml'))
        .slice(0, MAX_INTEGRATIONS)
        .map(({ name }) => `${folder}/${name}`)
      const found: ServiceIntegration[] = []
      for (let at = 0; at < paths.length; at += READS)
        found.push(...(await Promise.all(paths.slice(at, at + READS).map((path) => readOne(view, path)))).flat())
      return found.toSorted((one, other) => (one.file < other.file ? -1 : 1))
    },
    async putRegistry(call, name, { domain, username, password, message }) {
      const auth = Buffer.from(`${username}:${password}`).toString('base64')
      const server = domain === 'docker.io' || domain === 'index.docker.io' ? DOCKER_HUB : domain
      const config = { auths: { [server]: { username, password, auth } } }
      return put(call, {
        type: 'registry',
        name,
        place: domain,
        message,
        values: { '.dockerconfigjson': JSON.stringify(config) },
      })
    },
    async putJira(call, name, { url, username, token, projects, message }) {
      const values = { url, token, ...defined({ username, projects: projects?.join(',') }) }
      return put(call, { type: 'jira', name, place: url, message, values })
    },
    async remove(call, type, name) {
      noteSubject(`${type} integration ${name}`)
      const repository = await shared.open(call)
      const path = servicePath(runtime, type, name)
      const { commit } = await repository.change(async (view) => {
        const text = await view.read(path)
        if (text === undefined)
          throw fault('not-found', {
            message: `The ${type} integration "${name}" does not exist.`,
            hint: 'List those of the runtime with `windlass gitops service list RUNTIME`.',
          })
        if (readSealedService(text) === undefined) throw foreignFile(path)
        const message = `Remove the ${type} integration ${name} of the GitOps runtime ${runtime}`
        return { message, files: oneFile(path, undefined), result: undefined }
      })
      return commit
    },
  }
}

async function readOne(view: RepositoryView, file: string): Promise<ServiceIntegration[]> {
  const text = await readIfText(view, file)
  const found = text === undefined ? undefined : readSealedService(text)
  return found === undefined ? [] : [{ ...found, file }]
}
