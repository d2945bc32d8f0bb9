/** JFrog Artifactory, and calls of scripts in our own form. */
import { text } from '@windlass/forges'
import { isHmacOf, isSame } from '../forges/signature.ts'
import { hasTokenHeader, ignored, nameless, namespaceOf, type ReadArtifact, type RegistryReader } from './artifact.ts'

/**
 * Artifactory, whose webhooks send the secret or an HMAC of the body in a header (jfrog.com, "Webhooks"). Charts are artifacts with the name `name-version.tgz`.
 */
export const artifactory: RegistryReader = {
  verify({ headers, body, secret }) {
    const given = headers['x-jfrog-event-auth']
    return isSame(given, secret) || isHmacOf(given?.replace(/^sha256=/, ''), body, secret)
  },
  eventName: (body) => `${text(body, 'domain') ?? ''}/${text(body, 'event_type') ?? ''}`,
  parse(body) {
    const [domain, event] = [text(body, 'domain'), text(body, 'event_type')]
    if (domain === 'docker' && event === 'pushed') return [readImage(body)]
    if (domain === 'artifact' && event === 'deployed') return [readChart(body)]
    return [ignored('event-unsupported', `The event "${domain ?? ''}/${event ?? ''}" starts no builds.`)]
  },
}

function readImage(body: unknown): ReadArtifact {
  const [name, tag] = [text(body, 'data', 'image_name'), text(body, 'data', 'tag')]
  if (name === undefined || tag === undefined) return nameless()
  const sha256 = text(body, 'data', 'sha256')
  return {
    type: 'registry',
    name,
    namespace: text(body, 'data', 'repo_key'),
    tag,
    digest: sha256 === undefined ? undefined : `sha256:${sha256}`,
    pusher: pusherOf(body),
  }
}

/** `name-version.tgz`: the version begins at the first hyphen that a number follows. */
const CHART = /^(.+?)-(v?\d+\.\d+\.\d+[^/]*)\.tgz$/

function readChart(body: unknown): ReadArtifact {
  const file = text(body, 'data', 'name')
  const [, name, version] = CHART.exec(file?.slice(0, 500) ?? '') ?? []
  if (name === undefined || version === undefined)
    return ignored('event-unsupported', `The artifact "${file ?? ''}" is not a chart.`)
  const sha256 = text(body, 'data', 'sha256')
  return {
    type: 'helm',
    name,
    namespace: text(body, 'data', 'repo_key'),
    tag: version,
    digest: sha256 === undefined ? undefined : `sha256:${sha256}`,
    pusher: pusherOf(body),
  }
}

/** `source` is `jfrog/name` or `name@host`. */
function pusherOf(body: unknown): string | undefined {
  return text(body, 'source')?.replace(/^jfrog\//, '')
}

/** A script: `{"image": "team/app", "tag": "1.0"}` or `{"chart": "app", "version": "1.0.0"}`, optionally with `digest`, `pusher`, `pushedAt`, `id`. */
export const generic: RegistryReader = {
  verify: (call) =>
    hasTokenHeader(call) || isHmacOf(call.headers['x-windlass-signature']?.replace(/^sha256=/, ''), call.body, call.secret),
  deliveryId: (body) => text(body, 'id'),
  eventName: () => 'push',
  parse(body) {
    const [chart, image] = [text(body, 'chart'), text(body, 'image')]
    const name = chart ?? image
    const tag = text(body, chart === undefined ? 'tag' : 'version')
    if (name === undefined || tag === undefined || (chart !== undefined && image !== undefined)) return [nameless()]
    return [
      {
        type: chart === undefined ? 'registry' : 'helm',
        name,
        namespace: text(body, 'namespace') ?? namespaceOf(name),
        tag,
        digest: text(body, 'digest'),
        pusher: text(body, 'pusher'),
        pushedAt: text(body, 'pushedAt'),
      },
    ]
  },
}
