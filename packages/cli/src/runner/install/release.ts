/** Installs parts of the Runner into a namespace as one Helm release, and takes parts out of it again. */
import { mergeTrees, type Tree } from '../values/read-values.ts'
import { toChartValues, type InstallFacts } from '../values/chart-values.ts'
import type { Wishes } from '../values/wishes.ts'
import { joinParts, partsOf, type InstallPlace, type Parts } from './place.ts'

/** Brings parts in; those that the release of the namespace has already stay with their values. Answers all values. */
export async function addParts(
  place: InstallPlace,
  { wishes, facts }: { wishes: Wishes; facts: Omit<InstallFacts, 'namespace'> },
): Promise<Tree> {
  const helm = place.helm()
  const before = await helm.values(place.release)
  const parts = joinParts(before, facts.parts)
  const wanted = toChartValues(wishes, { ...facts, namespace: place.namespace, parts })
  const values = mergeTrees(withoutSwitches(before ?? {}), wanted)
  await helm.install(place.release, values)
  return values
}

/** Takes parts out; the release goes with its last part. False when there was none. */
export async function removeParts(place: InstallPlace, parts: readonly (keyof Parts)[]): Promise<boolean> {
  const helm = place.helm()
  const before = await helm.values(place.release)
  if (before === undefined) return false
  const left = { ...partsOf(before), ...Object.fromEntries(parts.map((part) => [part, false])) }
  if (!left.agent && !left.runtime && !left.monitor) return helm.uninstall(place.release)
  await helm.install(place.release, mergeTrees(before, switchesOff(left)))
  return true
}

function switchesOff(left: Parts): Tree {
  return {
    ...(!left.agent && { runner: { enabled: false } }),
    ...(!left.monitor && { monitor: { enabled: false } }),
    ...(!left.runtime && {
      volumeProvisioner: { enabled: false },
      runtime: { serviceAccount: { create: false }, rbac: { create: false }, gencerts: { enabled: false } },
    }),
  }
}

/** The values without what says that a part is left out: those that come in are said by the new values. */
function withoutSwitches(values: Tree): Tree {
  const kept: Record<string, unknown> = { ...values }
  for (const key of ['runner', 'monitor', 'volumeProvisioner']) {
    const part = kept[key]
    if (typeof part === 'object' && part !== null && 'enabled' in part && part.enabled === false) delete kept[key]
  }
  const { runtime } = kept
  if (typeof runtime === 'object' && runtime !== null && partsOf(values).runtime === false) {
    const {
      serviceAccount: _account,
      rbac: _rbac,
      gencerts: _gencerts,
      ...rest
    } = { serviceAccount: 0, rbac: 0, gencerts: 0, ...runtime }
    kept['runtime'] = rest
  }
  return kept
}
