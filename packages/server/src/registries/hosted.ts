/** Registries of images with their own webhooks: Docker Hub, Quay, Harbor, and the registry of the CNCF. */
import { list, text } from '@windlass/forges'
import {
  hasToken,
  hasTokenHeader,
  ignored,
  nameless,
  namespaceOf,
  timeOfSeconds,
  type ReadArtifact,
  type RegistryReader,
} from './artifact.ts'

/** Docker Hub, whose webhooks only have an address (docs.docker.com, "Docker Hub webhooks"). */
export const dockerhub: RegistryReader = {
  verify: hasToken,
  eventName: () => 'push',
  parse(body) {
    const namespace = text(body, 'repository', 'namespace')
    const [name, tag] = [text(body, 'repository', 'name'), text(body, 'push_data', 'tag')]
    if (namespace === undefined || name === undefined || tag === undefined) return [nameless()]
    return [
      {
        type: 'registry',
        name: `${namespace}/${name}`,
        namespace,
        tag,
        pusher: text(body, 'push_data', 'pusher'),
        pushedAt: timeOfSeconds(text(body, 'push_data', 'pushed_at')),
      },
    ]
  },
}

/** Quay, whose notifications only have an address (docs.quay.io, "Repository notifications"). One call names all tags of a push. */
export const quay: RegistryReader = {
  verify: hasToken,
  eventName: () => 'repo_push',
  parse(body) {
    const name = text(body, 'repository')
    const tags = list(body, 'updated_tags').filter((tag): tag is string => typeof tag === 'string' && tag !== '')
    if (name === undefined || tags.length === 0) return [nameless()]
    return tags.slice(0, MAX_ARTIFACTS).map((tag) => ({ type: 'registry', name, namespace: text(body, 'namespace'), tag }))
  },
}

/** Harbor, whose webhooks send a value of the user in the header Authorization (goharbor.io, "Configure webhook notifications"). */
export const harbor: RegistryReader = {
  verify: hasTokenHeader,
  eventName: (body) => text(body, 'type'),
  parse(body) {
    const type = text(body, 'type')
    if (type !== 'PUSH_ARTIFACT' && type !== 'UPLOAD_CHART')
      return [ignored('event-unsupported', `The event "${type ?? ''}" starts no builds.`)]
    const isChart = type === 'UPLOAD_CHART'
    const name = text(body, 'event_data', 'repository', isChart ? 'name' : 'repo_full_name')
    const resources = list(body, 'event_data', 'resources').slice(0, MAX_ARTIFACTS)
    if (name === undefined || resources.length === 0) return [nameless()]
    return resources.map((resource): ReadArtifact => {
      const tag = text(resource, 'tag')
      if (tag === undefined) return nameless()
      return {
        type: isChart ? 'helm' : 'registry',
        name,
        namespace: text(body, 'event_data', 'repository', 'namespace'),
        tag,
        digest: text(resource, 'digest'),
        pusher: text(body, 'operator'),
        pushedAt: timeOfSeconds(text(body, 'occur_at')),
      }
    })
  },
}

/**
 * The registry of the CNCF, which sends headers of its configuration (distribution.github.io, "Work with notifications"). It reports each layer, and
 * repeats a call until it succeeds, with the same ids.
 */
export const distribution: RegistryReader = {
  verify: hasTokenHeader,
  deliveryId(body) {
    const ids = list(body, 'events').flatMap((event) => text(event, 'id') ?? [])
    return ids.length === 0 ? undefined : ids.join(',')
  },
  eventName: (body) => text(list(body, 'events')[0], 'action'),
  parse(body) {
    const pushed = list(body, 'events').filter(
      (event) => text(event, 'action') === 'push' && text(event, 'target', 'tag') !== undefined,
    )
    if (pushed.length === 0) return [ignored('event-unsupported', 'The call reports no push of a tag.')]
    return pushed.slice(0, MAX_ARTIFACTS).map((event): ReadArtifact => {
      const [name, tag] = [text(event, 'target', 'repository'), text(event, 'target', 'tag')]
      if (name === undefined || tag === undefined) return nameless()
      return {
        type: 'registry',
        name,
        namespace: namespaceOf(name),
        tag,
        digest: text(event, 'target', 'digest'),
        pusher: text(event, 'actor', 'name'),
        pushedAt: text(event, 'timestamp'),
      }
    })
  },
}

/** Maximum number of images of one call that start builds. */
const MAX_ARTIFACTS = 50
