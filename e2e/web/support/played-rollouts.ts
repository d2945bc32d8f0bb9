/** Rollouts at the played server of Argo CD: what it answers of single objects, and what it was asked to do. The test says what an action changes. */
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

export interface PlayedRollouts {
  /** Manifests by `KIND/NAME`. */
  readonly objects: Map<string, object>
  /** Actions that Argo CD knows, and whether the state allows them. */
  readonly actions: Map<string, boolean>
  /** Actions and patches that were asked for, in their order. */
  readonly asked: string[]
  /** Returns the answer to a call of `resource`. Undefined for another call, and for an object that does not exist. */
  answer(url: URL, request: IncomingMessage): Promise<object | undefined>
}

const PATH = /^\/api\/v1\/applications\/[a-z0-9.-]+\/resource(\/actions(?:\/v2)?)?$/

export function playRollouts(): PlayedRollouts {
  const played: PlayedRollouts = {
    objects: new Map(),
    actions: new Map(),
    asked: [],
    async answer({ pathname, searchParams }, request) {
      const found = PATH.exec(pathname)
      if (found === null) return undefined
      const [, part = ''] = found
      const body: unknown = request.method === 'POST' ? JSON.parse(await text(request)) : undefined
      if (part === '/actions/v2') {
        const { action, kind, resourceName } = body as Record<string, string>
        played.asked.push(`${action} ${kind}/${resourceName}`)
        return {}
      }
      if (part === '/actions') return { actions: [...played.actions].map(([name, isOn]) => ({ name, disabled: !isOn })) }
      const key = `${searchParams.get('kind')}/${searchParams.get('resourceName')}`
      if (request.method === 'POST') {
        played.asked.push(`patch ${key} ${String(body)}`)
        return {}
      }
      const object = played.objects.get(key)
      return object === undefined ? undefined : { manifest: JSON.stringify(object) }
    },
  }
  return played
}
