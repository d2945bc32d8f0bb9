/**
 * Single objects of applications, read and changed in their clusters by the server of Argo CD, which also reaches managed clusters. It carries out the actions that it knows for a kind, so what a field of a
 * foreign kind means is written there and not here.
 */
import { fault } from '@windlass/kit'
import { isRecord, parseJson } from '@windlass/kit/json'
import type { Client, ResourceNode } from '@windlass/protocol'
import { z } from 'zod'
import { readToken, refuse, type ArgoApiOptions } from './api.ts'

const TIMEOUT_MS = 30_000

/** An object, as the tree of its application names it. */
export type LiveObject = Pick<ResourceNode, 'group' | 'version' | 'kind' | 'namespace' | 'name'>

/** A change of one field (RFC 6902). */
interface FieldPatch {
  readonly op: 'replace'
  readonly path: string
  readonly value: unknown
}

export interface LiveObjects {
  /** Returns the object as its cluster has it now. */
  read(application: string, object: LiveObject): Promise<Readonly<Record<string, unknown>>>
  /** Returns the actions that Argo CD knows for the object, with those that its state allows as true. */
  actions(application: string, object: LiveObject): Promise<ReadonlyMap<string, boolean>>
  run(application: string, object: LiveObject, action: string): Promise<void>
  patch(application: string, object: LiveObject, patch: readonly FieldPatch[]): Promise<void>
}

const Live = z.object({ manifest: z.string() })
const Actions = z.object({
  actions: z
    .array(z.object({ name: z.string(), disabled: z.boolean().nullish() }))
    .max(100)
    .nullish(),
})

export function openLiveObjects({ client, tokenFile, namespace }: ArgoApiOptions): LiveObjects {
  const withToken = (): Client => client.withToken(readToken(tokenFile))
  const pathOf = (application: string, part: string): string =>
    `/api/v1/applications/${encodeURIComponent(application)}/resource${part}`
  const keyOf = ({ group = '', version = '', kind, namespace: place, name }: LiveObject) => ({
    appNamespace: namespace,
    group,
    version,
    kind,
    namespace: place ?? '',
    resourceName: name,
  })
  const common = { timeoutMs: TIMEOUT_MS }

  return {
    async read(application, object) {
      const options = { ...common, query: keyOf(object) }
      const { manifest } = await withToken().call('GET', pathOf(application, ''), Live, options).catch(refuse)
      const found = parseJson(manifest)
      if (isRecord(found)) return found
      throw fault('argo-cd-refused', { message: `Argo CD has no manifest of ${object.kind} "${object.name}".` })
    },
    async actions(application, object) {
      const options = { ...common, query: keyOf(object) }
      const { actions } = await withToken().call('GET', pathOf(application, '/actions'), Actions, options).catch(refuse)
      return new Map((actions ?? []).map(({ name, disabled }) => [name, disabled !== true]))
    },
    async run(application, object, action) {
      const options = { ...common, body: { ...keyOf(object), action } }
      await withToken().text('POST', pathOf(application, '/actions/v2'), options).catch(refuse)
    },
    async patch(application, object, patch) {
      const query = { ...keyOf(object), patchType: 'application/json-patch+json' }
      // The body is the patch as a text.
      const options = { ...common, query, body: JSON.stringify(patch) }
      await withToken().text('POST', pathOf(application, ''), options).catch(refuse)
    },
  }
}
