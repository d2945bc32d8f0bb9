/** Links with which people without an account see a build or a badge. */
import {
  BadgeLinkInput,
  BuildLinkInput,
  Link,
  LinkCreated,
  page,
  PageQuery,
  SharedBuild,
  SharedLogQuery,
} from '@windlass/protocol'
import { route } from '../route.ts'

export const links = {
  /** Lists links that have not ended, oldest first. */
  list: route('GET', '/v1/links', { query: PageQuery, answer: page(Link) }),
  /** Creates a link to the status and log of a build. Only this response contains its URL. */
  shareBuild: route('POST', '/v1/builds/{id}/links', { body: BuildLinkInput, answer: LinkCreated, isKeyed: true }),
  /** Creates an address of the badge of a pipeline. Only this response contains it. */
  shareBadge: route('POST', '/v1/pipelines/{name}/badge-links', { body: BadgeLinkInput, answer: LinkCreated, isKeyed: true }),
  delete: route('DELETE', '/v1/links/{id}', { answer: 'nothing' }),
}

/** What a link shows. The caller sends its secret in the header `x-windlass-link`. */
export const shared = {
  build: route('GET', '/v1/shared/builds/{id}', { answer: SharedBuild }),
  log: route('GET', '/v1/shared/builds/{id}/log', { query: SharedLogQuery, answer: 'text' }),
}
