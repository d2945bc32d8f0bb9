/** Adds and removes parts of the Runner in the Helm release of a namespace. */
import { mergeTrees, type Tree } from '../values/read-values.ts'
import { toChartValues, type InstallFacts } from '../values/chart-values.ts'
import type { InstallValues } from '../values/install-values.ts'
import { joinParts, partsOf, type InstallTarget, type Parts } from './target.ts'

/** Adds parts. Existing parts of the release keep their values. Resolves to all values. */
export async function addParts(
  target: InstallTarget,
  { installValues, facts }: { installValues: InstallValues; facts: Omit<InstallFacts, 'namespace'> },
): Promise<Tree> {
  const helm = target.helm()
  const before = await helm.values(target.release)
  const parts = joinParts(before, facts.parts)
  const wanted = toChartValues(installValues, { ...facts, namespace: target.namespace, parts })
  const values = mergeTrees(withoutSwitches(before ?? {}), wanted)
  await helm.install(target.release, values)
  return values
}

/** Removes parts, and the release with its last part. Resolves to false if there is no release. */
export async function removeParts(target: InstallTarget, parts: readonly (keyof Parts)[]): Promise<boolean> {
  const helm = target.helm()
  const before = await helm.values(target.release)
  if (before === undefined) return false
  const left = { ...partsOf(before), ...Object.fromEntries(parts.map((part) => [part, false])) }
  if (!left.agent && !left.runtime && !left.monitor && !left.appProxy) return helm.uninstall(target.release)
  await helm.install(target.release, mergeTrees(before, switchesOff(left)))
  return true
}

function switchesOff(left: Parts): Tree {
  return {
    ...(!left.agent && { runner: { enabled: false } }),
    ...(!left.monitor && { monitor: { enabled: false } }),
    ...(!left.appProxy && { appProxy: { enabled: false } }),
    ...(!left.runtime && {
      volumeProvisioner: { enabled: false },
      runtime: { serviceAccount: { create: false }, rbac: { create: false }, gencerts: { enabled: false } },
    }),
  }
}

/** Returns the values without switches that disable parts; the new values set them again. */
function withoutSwitches(values: Tree): Tree {
  const kept: Record<string, unknown> = { ...values }
  for (const key of ['runner', 'monitor', 'volumeProvisioner', 'appProxy']) {
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
