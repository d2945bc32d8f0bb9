import type { App } from '../../app.ts'

/** Returns the link to a build. */
export function buildUrl({ advertisedUrl }: Pick<App, 'advertisedUrl'>, id: string): string {
  return `${advertisedUrl()}/v1/builds/${id}`
}
