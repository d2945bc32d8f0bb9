/**
 * What works in the runtime, found out by asking: the cluster for what is stored, the forge for the Git token of the runtime, Argo CD for what it applies. A part that does not answer makes its
 * check unknown, and never failed: another check says that it does not answer.
 */
import { ENTITY_LABEL, runtimeApplicationName, type RuntimePlace } from '@windlass/gitops'
import { isFault, type Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import type { CheckResult, RuntimeCheckName, RuntimeReport, SyncMode } from '@windlass/protocol'
import type { Applications } from '../argo/applications.ts'
import { readArgoState, type ArgoServer } from '../argo/server-state.ts'
import { RUNTIME_USER } from '../store/git-tokens.ts'
import type { Integration, Integrations } from '../store/integrations.ts'
import { openForgeCheck, type ForgeCheckOptions } from './forge-check.ts'
import { failed, ok, unknown } from './results.ts'
import { checkKey, checkRandomText, type StoredKeys } from './stored-keys.ts'

/** Name of the integration that commands use unless another one is named. */
const DEFAULT = 'default'

export interface CheckOptions extends Omit<ForgeCheckOptions, 'runtime'> {
  readonly place: RuntimePlace
  readonly kube: Kube
  readonly applications: Pick<Applications, 'get'>
  readonly integrations: Integrations
  readonly argo?: ArgoServer | undefined
  readonly keys: StoredKeys
  readonly version: string
  readonly log: Logger
}

export interface Checks {
  /** Finds out what works. Does not throw for a part that does not answer. */
  read(signal: AbortSignal): Promise<RuntimeReport>
}

export function openChecks(options: CheckOptions): Checks {
  const { place, kube, applications, integrations, tokens, argo, keys, version, log } = options
  const { runtime, namespace } = place
  const askForge = openForgeCheck({ ...options, runtime })

  /** Finds applications by what they are for. */
  async function ofEntity(entity: string): Promise<readonly string[]> {
    const found = await kube.list({
      kind: 'Application',
      namespace,
      labels: `${ENTITY_LABEL}=${entity}`,
      content: 'metadata',
    })
    return found.map(({ metadata }) => metadata.name)
  }

  async function checkGitSources(): Promise<CheckResult> {
    const names = await ofEntity('git-source')
    if (names.length > 0)
      return ok(`Argo CD has ${names.length} Git ${names.length === 1 ? 'source' : 'sources'} of the runtime.`)
    return failed(
      'The runtime has no Git source, so no repository has its applications.',
      `Create one: \`windlass gitops git-source create ${runtime} NAME --git-src-repo URL\`.`,
    )
  }

  async function checkIntegration(all: readonly Integration[]): Promise<CheckResult> {
    const found = all.find(({ name }) => name === DEFAULT)
    if (found !== undefined) return ok(`The Git integration "${DEFAULT}" is that of ${found.url}.`)
    const others = all.length === 0 ? '' : ` It has others: ${all.map(({ name }) => name).join(', ')}.`
    return failed(
      `The runtime has no Git integration "${DEFAULT}".${others}`,
      `Add one: \`windlass gitops integration add ${runtime} --provider PROVIDER --url URL\`.`,
    )
  }

  async function checkGitToken(all: readonly Integration[], signal: AbortSignal): Promise<CheckResult> {
    const users = await tokens.users()
    const own = all.filter(({ name }) => users.get(name)?.includes(RUNTIME_USER) === true)
    const register = `Register one: \`windlass gitops integration register ${runtime} NAME --token-file FILE --runtime-token\`.`
    // The check of the default integration says that it is gone.
    const isLeft = [...users.values()].some((registered) => registered.includes(RUNTIME_USER))
    if (own.length === 0 && isLeft) return unknown('The Git token of the runtime is that of an integration that is gone.')
    if (own.length === 0) return failed('The runtime has no Git token of its own, so it cannot carry out releases.', register)
    const results: CheckResult[] = []
    for (const integration of own) results.push(await askForge(integration, signal))
    const worst = ['failed', 'unknown'].flatMap((wanted) => results.find(({ status }) => status === wanted) ?? [])
    return worst[0] ?? results[0] ?? unknown('')
  }

  async function checkShared(): Promise<CheckResult> {
    const name = runtimeApplicationName(runtime)
    const create = `Create it: \`windlass gitops config application ${runtime} | kubectl apply --filename -\`.`
    try {
      const { sync, conditions } = await applications.get(name)
      const broken = conditions.find(({ type }) => type.endsWith('Error'))
      if (broken !== undefined)
        return failed(
          `Argo CD cannot apply the shared repository: ${broken.message}`,
          `See the application ${name}, and the credentials of Argo CD for the repository.`,
        )
      return ok(`Argo CD applies the shared repository by the application ${name} (${sync}).`)
    } catch (error) {
      if (!isFault(error, 'not-found')) throw error
      return failed(`Argo CD does not apply the shared repository: there is no application ${name}.`, create)
    }
  }

  async function readSyncMode(): Promise<SyncMode> {
    const names = await ofEntity('runtime').catch(() => undefined)
    if (names === undefined) return 'unknown'
    return names.includes(runtime) ? 'gitops' : 'helm'
  }

  /** A part that does not answer is not what the check is about. */
  async function settle(name: string, check: () => Promise<CheckResult>): Promise<CheckResult> {
    try {
      return await check()
    } catch (error) {
      if (isFault(error)) return unknown(error.message)
      log.error({ err: error, check: name }, 'bug in a check')
      return unknown('The check itself failed. See the log of the app-proxy.')
    }
  }

  return {
    async read(signal) {
      const listed = integrations.list()
      // Each check that needs the list reports its failure.
      listed.catch(() => undefined)
      const [argoCd, syncMode] = await Promise.all([readArgoState(argo, signal), readSyncMode()])
      const work = {
        encryptionKey: () => checkKey(keys, tokens),
        encryptionIv: () => checkRandomText(keys),
        defaultGitIntegration: async () => checkIntegration(await listed),
        runtimeGitToken: async () => checkGitToken(await listed, signal),
        isc: checkShared,
        gitSourceConfigured: checkGitSources,
        eventReporterArgoCDToken: async () => argoCd.token,
      } as const satisfies Readonly<Record<Exclude<RuntimeCheckName, 'appProxyStarted'>, () => Promise<CheckResult>>>
      const results = await Promise.all(
        Object.entries(work).map(async ([name, check]) => [name, await settle(name, check)] as const),
      )
      const { state, message } = argoCd
      return { version, checks: Object.fromEntries(results), syncMode, argoCd: { state, message } }
    },
  }
}
