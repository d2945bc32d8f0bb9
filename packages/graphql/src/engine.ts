/** Answers GraphQL requests. A request is read, measured, validated and carried out; faults become errors with their stable codes. */
import { readFileSync } from 'node:fs'
import { fault, isFault, type Fault } from '@windlass/kit'
import {
  buildSchema,
  execute,
  GraphQLError,
  Kind,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
  type DocumentNode,
  type GraphQLObjectType,
  type GraphQLSchema,
} from 'graphql'
import type { Field, Fields } from './field.ts'
import { MAX_TOKENS, requireSmall, type GraphqlRequest } from './limits.ts'

const COMMON = readFileSync(new URL('common.graphql', import.meta.url), 'utf8')
/** Errors of one answer, and the length of the message of one. */
const MAX_ERRORS = 10
const MAX_MESSAGE = 500
/** The end of a message of `graphql` that has a value of the request. */
const VALUE = /(?:, found:?|(?<= represent [\w -]*value):|(?<=Unexpected (?:Block)?String)) .*/s
/** The page of reference has the schema, so requests need not ask for it. */
const RULES = [...specifiedRules, NoSchemaIntrospectionCustomRule]

export interface GraphqlOptions<C> {
  /** Text of the schema, without the types that all schemas have. */
  readonly schema: string
  readonly queries: Fields<C>
  readonly mutations: Fields<C>
  /** Returns the fault of an error, and logs bugs. */
  readonly toFault: (error: unknown, call: C) => Fault
}

interface ShownError {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly locations?: readonly { readonly line: number; readonly column: number }[]
  readonly extensions: Readonly<Record<string, unknown>>
}

export interface GraphqlAnswer {
  /** 400 for a request that was not carried out; 401 or 403 if the caller may not do it; otherwise 200, also with errors. */
  readonly status: 200 | 400 | 401 | 403
  readonly body: { readonly data?: unknown; readonly errors?: readonly ShownError[] }
}

export type Graphql<C> = (request: GraphqlRequest, call: C) => Promise<GraphqlAnswer>

/** Returns the whole text of a schema. */
export function schemaText(schema: string): string {
  return `${schema.trimEnd()}\n\n${COMMON}`
}

/** Returns what answers requests. The schema is built with the first one. */
export function openGraphql<C>(options: GraphqlOptions<C>): Graphql<C> {
  let schema: GraphQLSchema | undefined
  return async (request, call) => {
    schema ??= openSchema(options)
    const document = readDocument(schema, request.query)
    if (!('definitions' in document)) return document
    // Fields that are functions get their arguments and the call. The rest is data.
    const root = document.isMutation ? options.mutations : options.queries
    const { data, errors } = await execute({
      schema,
      document: document.definitions,
      rootValue: root,
      contextValue: call,
      variableValues: request.variables,
      operationName: request.operationName,
      options: { maxCoercionErrors: MAX_ERRORS },
    })
    // Without data nothing was carried out: a variable is missing, or has another type.
    if (data === undefined) return refused(errors ?? [])
    if (errors === undefined) return { status: 200, body: { data } }
    const faults = errors.map((error) => ({ error, found: options.toFault(error.cause ?? error, call) }))
    const denied = faults.find(({ found }) => found.status === 401 || found.status === 403)?.found
    return {
      status: denied === undefined ? 200 : denied.status === 401 ? 401 : 403,
      body: { data, errors: faults.slice(0, MAX_ERRORS).map(({ error, found }) => shownFault(error, found)) },
    }
  }
}

/** Builds the schema. Throws if its fields and the functions for them differ. */
function openSchema<C>({ schema: text, queries, mutations }: GraphqlOptions<C>): GraphQLSchema {
  const schema = buildSchema(schemaText(text))
  requireSameNames(schema.getQueryType(), queries)
  requireSameNames(schema.getMutationType(), mutations)
  return schema
}

function requireSameNames(type: GraphQLObjectType | null | undefined, fields: Readonly<Record<string, Field<never>>>): void {
  const [wanted, found] = [new Set(Object.keys(type?.getFields() ?? {})), new Set(Object.keys(fields))]
  const different = [...wanted.symmetricDifference(found)]
  if (different.length > 0) throw new Error(`the schema and its functions differ in ${different.join(', ')}`)
}

interface ReadDocument {
  readonly definitions: DocumentNode
  readonly isMutation: boolean
}

/** Reads and checks the text of a request. Returns the refusal of one that is not valid. */
function readDocument(schema: GraphQLSchema, query: string): ReadDocument | GraphqlAnswer {
  try {
    const document = parse(query, { maxLexicalTokens: MAX_TOKENS })
    requireSmall(document)
    const errors = validate(schema, document, RULES, { maxErrors: MAX_ERRORS })
    if (errors.length > 0) return refused(errors)
    const operations = document.definitions.flatMap((definition) =>
      definition.kind === Kind.OPERATION_DEFINITION ? [definition.operation] : [],
    )
    // Which one is carried out is chosen later. Functions of the other kind would not be found.
    if (new Set(operations).size > 1)
      throw fault('request-invalid', { message: 'The request has a query and a mutation.', hint: 'Send them one by one.' })
    return { definitions: document, isMutation: operations[0] === 'mutation' }
  } catch (error) {
    if (error instanceof GraphQLError) return refused([error])
    if (isFault(error)) return { status: 400, body: { errors: [shownFault(undefined, error)] } }
    throw error
  }
}

/** Returns the answer to a request that was not carried out. It has no value of the request: clients log it, and a token may be among them. */
function refused(errors: readonly GraphQLError[]): GraphqlAnswer {
  const shown = errors.slice(0, MAX_ERRORS).map(({ message, locations }): ShownError => ({
    message: message.replace(VALUE, '.').slice(0, MAX_MESSAGE),
    ...(locations !== undefined && { locations: locations.map(({ line, column }) => ({ line, column })) }),
    extensions: { code: 'request-invalid', status: 400 },
  }))
  return { status: 400, body: { errors: shown } }
}

function shownFault(error: GraphQLError | undefined, { code, status, message, hint, details }: Fault): ShownError {
  const { problems, right } = details
  return {
    message,
    ...(error?.path !== undefined && { path: error.path }),
    extensions: { code, status, hint, ...(problems !== undefined && { problems }), ...(right !== undefined && { right }) },
  }
}
