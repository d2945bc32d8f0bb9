import type { App } from '../../app.ts'

/** Returns the link to a build for people: to its page, or to its record if the server has no page. */
export function buildUrl({ advertisedUrl, hasPage }: Pick<App, 'advertisedUrl' | 'hasPage'>, id: string): string {
  return `${advertisedUrl()}${hasPage ? '' : '/v1'}/builds/${id}`
}
