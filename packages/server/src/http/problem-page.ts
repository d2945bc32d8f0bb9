/** Problems as pages, for routes that browsers open. */
import type { Fault } from '@windlass/kit'

/** Sent with each page. It has no scripts, and other sites cannot frame it. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** Returns a page with the message and the hint of a problem. Both may contain text of others. */
export function problemPage({ message, hint }: Pick<Fault, 'message' | 'hint'>, requestId: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Not signed in · Windlass</title>
  </head>
  <body>
    <main>
      <h1>Not signed in</h1>
      <p>${escapeHtml(message)}</p>
      <p>${escapeHtml(hint)}</p>
      <p><a href="/signin">Back to the sign-in</a></p>
      <p>Request ${escapeHtml(requestId)}</p>
    </main>
  </body>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes text for the content of an element and for a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
