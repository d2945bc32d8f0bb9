/** The page with the GraphQL schemas. */
import { APP_PROXY_SCHEMA } from '../packages/app-proxy/src/graphql/graphql-route.ts'
import { schemaText } from '../packages/graphql/src/index.ts'
import { PLATFORM_SCHEMA } from '../packages/server/src/http/graphql/graphql-route.ts'
import { NOTE } from './pages.ts'

const block = (schema: string): string => `\`\`\`graphql\n${schemaText(schema).trimEnd()}\n\`\`\``

export function graphqlPage(): string {
  return `${NOTE}
# GraphQL schemas

[Public GitOps clients](../guides/graphql.md) explains their use.

## The server

\`POST /2.0/api/graphql\`

${block(PLATFORM_SCHEMA)}

## The app-proxy of a GitOps runtime

\`POST /app-proxy/api/graphql\`

${block(APP_PROXY_SCHEMA)}
`
}
