/** The address of the app-proxy in the specification of a runtime environment: `appProxy.externalIP`. */
import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import { orUndefined } from '../../session/session.ts'
import { valueAt, type Tree } from '../values/read-values.ts'

/** Returns the runtime environment that the app-proxy belongs to: the given one, that of the release, or the only one. Throws `usage` and `not-found`. */
export async function findRuntimeName(client: ApiClient, given: string | undefined, release: Tree | undefined): Promise<string> {
  const installed = valueAt(release, ['global', 'runtimeName'])
  if (typeof installed === 'string' && installed !== '') {
    if (given === undefined || given === installed) return installed
    throw fault('conflict', {
      message: `The Runner of this namespace has the runtime environment ${installed}, not ${given}.`,
      hint: 'Name the namespace of the other one with --kube-namespace.',
    })
  }
  if (given !== undefined) return (await client.runtimes.get(given)).name
  const { items } = await client.runtimes.list()
  const [only] = items
  if (only !== undefined && items.length === 1) return only.name
  throw fault('usage', {
    message:
      only === undefined ? 'No runtime environment exists.' : `No runtime environment was given, and ${items.length} exist.`,
    hint:
      only === undefined
        ? 'Install a Runner with `windlass runner init`.'
        : 'Add --runtime-environment; list them with `windlass get re`.',
  })
}

/** Returns the address in a specification; undefined without an app-proxy. */
export function proxyAddressOf(spec: unknown): string | undefined {
  const url = valueAt(spec, ['appProxy', 'externalIP'])
  return typeof url === 'string' && url !== '' ? url : undefined
}

/** Writes the address into the runtime environment, or removes it. Does nothing if it is there, and without the runtime environment. */
export async function setProxyAddress(client: ApiClient, name: string, url: string | undefined): Promise<void> {
  const runtime = await orUndefined(client.runtimes.get(name))
  if (runtime === undefined) return
  const { type, agent, isDefault } = runtime
  const { appProxy: _before, ...rest } = runtime.spec
  if (proxyAddressOf(runtime.spec) === url) return
  const spec = url === undefined ? rest : { ...rest, appProxy: { externalIP: url } }
  const description = `${url === undefined ? 'uninstall' : 'install'} app-proxy`
  await client.runtimes.put(name, { name, type, isDefault, spec, ...defined({ agent }) }, { query: { description } })
}
