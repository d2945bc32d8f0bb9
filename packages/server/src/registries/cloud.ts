/** Registries of clouds: Azure, AWS and Google. */
import { text } from '@windlass/forges'
import { parseJson } from '@windlass/kit'
import { hasToken, hasTokenHeader, ignored, nameless, namespaceOf, splitReference, type RegistryReader } from './artifact.ts'

/** Azure Container Registry, whose webhooks send headers of the user (learn.microsoft.com, "webhook schema reference"). */
export const acr: RegistryReader = {
  verify: hasTokenHeader,
  deliveryId: (body) => text(body, 'id'),
  eventName: (body) => text(body, 'action'),
  parse(body) {
    const action = text(body, 'action')
    if (action !== 'push' && action !== 'chart_push')
      return [ignored('event-unsupported', `The action "${action ?? ''}" starts no builds.`)]
    const isChart = action === 'chart_push'
    const name = isChart ? text(body, 'target', 'name') : text(body, 'target', 'repository')
    const tag = isChart ? text(body, 'target', 'version') : text(body, 'target', 'tag')
    if (name === undefined || tag === undefined) return [nameless()]
    return [
      {
        type: isChart ? 'helm' : 'registry',
        name,
        namespace: text(body, 'request', 'host')?.replace(/\.azurecr\.\w+$/, ''),
        tag,
        digest: text(body, 'target', 'digest'),
        pushedAt: text(body, 'timestamp'),
      },
    ]
  },
}

/** Amazon ECR by EventBridge, whose API destinations send headers of the user (docs.aws.amazon.com, "Amazon ECR events and EventBridge"). */
export const ecr: RegistryReader = {
  verify: hasTokenHeader,
  deliveryId: (body) => text(body, 'id'),
  eventName: (body) => text(body, 'detail-type'),
  parse(body) {
    const [kind, action, result] = [
      text(body, 'detail-type'),
      text(body, 'detail', 'action-type'),
      text(body, 'detail', 'result'),
    ]
    if (kind !== 'ECR Image Action' || action !== 'PUSH' || result !== 'SUCCESS')
      return [ignored('event-unsupported', `The event "${kind ?? ''}" with the action "${action ?? ''}" starts no builds.`)]
    const [name, tag] = [text(body, 'detail', 'repository-name'), text(body, 'detail', 'image-tag')]
    if (name === undefined || tag === undefined) return [nameless()]
    const digest = text(body, 'detail', 'image-digest')
    return [{ type: 'registry', name, namespace: text(body, 'account'), tag, digest, pushedAt: text(body, 'time') }]
  },
}

/**
 * Google Container Registry and Artifact Registry by a push subscription of Pub/Sub, whose address may have parameters (cloud.google.com, "Configure Pub/Sub
 * notifications").
 */
export const gcr: RegistryReader = {
  verify: hasToken,
  deliveryId: (body) => text(body, 'message', 'messageId'),
  eventName: (body) => text(messageOf(body), 'action'),
  parse(body) {
    const message = messageOf(body)
    const action = text(message, 'action')
    if (action !== 'INSERT') return [ignored('event-unsupported', `The action "${action ?? ''}" starts no builds.`)]
    const image = splitReference(text(message, 'tag'))
    if (image === undefined) return [nameless()]
    const digest = text(message, 'digest')?.split('@')[1]
    const pushedAt = text(body, 'message', 'publishTime')
    return [{ type: 'registry', ...image, namespace: namespaceOf(image.name), digest, pushedAt }]
  },
}

/** The event is JSON in base64. */
function messageOf(body: unknown): unknown {
  const data = text(body, 'message', 'data')
  return data === undefined ? undefined : parseJson(Buffer.from(data, 'base64').toString('utf8'))
}
