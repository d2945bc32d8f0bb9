/** The web page: one document for every address that no route of the server has, and its built files. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answerAsset, assetOf, readAssets, type Asset } from './assets.ts'

export interface WebPage {
  /** The built files, without the document. */
  readonly files: readonly Asset[]
  readonly document: Asset
}

/** Addresses of calls and of their tools, which get a problem document even if a browser opens them. */
const CALLS = /^\/(?:v1|api|healthz|readyz|metrics|hooks|badges|assets|icons|schemas)(?:[/?]|$)/

const MISSING = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Windlass</title>
  </head>
  <body>
    <h1>The web page is not built</h1>
    <p>Run this in the repository, then start the server again:</p>
    <pre>npm run build --workspace packages/web</pre>
    <p>The API and the command line work without it.</p>
  </body>
</html>
`

/** Reads the built page. Without one, every address of the page says how to build it. */
export function readPage(folder: string): WebPage {
  if (!existsSync(join(folder, 'index.html'))) return { files: [], document: assetOf('index.html', Buffer.from(MISSING)) }
  const all = readAssets(folder)
  const document = all.find(({ path }) => path === 'index.html')
  if (document === undefined) throw new Error(`${folder} has no readable index.html`)
  return { files: all.filter((asset) => asset !== document), document }
}

/** Returns true if a browser asks for a document that the page shows. */
export function isForPage({ method, headers, url }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.accept?.includes('text/html') === true && !CALLS.test(url)
}

/** Answers with the document of the page. */
export function answerPage({ document }: WebPage, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return answerAsset(document, request, reply)
}
