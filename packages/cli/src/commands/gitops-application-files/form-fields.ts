/** The options of `gitops app create` and `gitops app edit` as fields of a form. */
import { fault } from '@windlass/kit/faults'
import type { ApplicationFields } from '@windlass/protocol'

export interface FormOptions {
  readonly repo: string | undefined
  readonly path: string | undefined
  readonly revision: string | undefined
  readonly chart: string | undefined
  readonly values: readonly string[]
  readonly helmSet: readonly string[]
  readonly helmSetString: readonly string[]
  readonly releaseName: string | undefined
  readonly directoryRecurse: boolean | undefined
  readonly destNamespace: string | undefined
  readonly destServer: string | undefined
  readonly destName: string | undefined
  readonly syncPolicy: ApplicationFields['sync']
  readonly autoPrune: boolean | undefined
  readonly selfHeal: boolean | undefined
  readonly allowEmpty: boolean | undefined
  readonly syncOption: readonly string[]
  readonly syncRetryLimit: number | undefined
  readonly project: string | undefined
  readonly label: readonly string[]
  readonly annotation: readonly string[]
}

/** Returns the fields of the options that are given. Throws `usage`. */
export function toFields(options: FormOptions): ApplicationFields {
  const given: { readonly [K in keyof ApplicationFields]: ApplicationFields[K] | undefined } = {
    repo: options.repo,
    path: options.path,
    revision: options.revision,
    chart: options.chart,
    // `--values ''` removes them.
    valueFiles: listOf(options.values, (file) => file !== ''),
    parameters: namesOf('--helm-set', options.helmSet),
    stringParameters: namesOf('--helm-set-string', options.helmSetString),
    releaseName: options.releaseName,
    recurse: options.directoryRecurse,
    namespace: options.destNamespace,
    server: options.destServer,
    cluster: options.destName,
    sync: options.syncPolicy,
    prune: options.autoPrune,
    selfHeal: options.selfHeal,
    allowEmpty: options.allowEmpty,
    syncOptions: listOf(options.syncOption, () => true),
    retryLimit: options.syncRetryLimit,
    project: options.project,
    labels: namesOf('--label', options.label),
    annotations: namesOf('--annotation', options.annotation),
  }
  // What is not given is absent.
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as ApplicationFields
}

function listOf(given: readonly string[], isKept: (text: string) => boolean): string[] | undefined {
  return given.length === 0 ? undefined : given.filter(isKept)
}

/** Reads `NAME=VALUE`, and `NAME-`, which removes a name. */
function namesOf(option: string, given: readonly string[]): Record<string, string | null> | undefined {
  if (given.length === 0) return undefined
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf('=')
      if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
      if (at < 0 && text.length > 1 && text.endsWith('-')) return [text.slice(0, -1), null]
      throw fault('usage', { message: `${option} takes NAME=VALUE, not "${text}".`, hint: 'Write NAME- to remove one.' })
    }),
  )
}
