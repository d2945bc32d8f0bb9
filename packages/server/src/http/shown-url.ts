/** Returns the path of a URL with keys masked, because public clients put whole keys into paths. */
export function shownUrl(url: string): string {
  return (url.split('?')[0] ?? '').replace(/([0-9a-f]{24})\.[\w-]{20,}/g, '$1.*****')
}
