/** One context: its form, what uses it, and what breaks without it. */
import { useQuery } from '@tanstack/react-query'
import type { Context } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Question } from '../parts/question.tsx'
import { command } from '../parts/shell.ts'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { Page } from '../shell/page.tsx'
import { tell } from '../shell/toasts.tsx'
import { paths } from '../url/paths.ts'
import { ContextForm } from './context-form.tsx'
import styles from './contexts.module.css'
import { TYPE_WORDS } from './draft.ts'
import { contextQueries, type ContextUse } from './queries.ts'

export function ContextScreen(): ReactElement {
  const { '*': name = '' } = useParams<{ '*'?: string }>()
  const { data, error, isPending, refetch } = useQuery(contextQueries.one(name))
  return (
    <Page
      title={name}
      heading={
        <>
          <Link href={paths.contexts()}>Contexts</Link> / <bdi>{name}</bdi>
        </>
      }
      actions={data !== undefined && <Deletion context={data} />}
    >
      {isPending && <Loading rows={6} what="the context" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <Content context={data} />}
    </Page>
  )
}

function Content({ context }: { readonly context: Context }): ReactElement {
  const [, go] = useLocation()
  const stored = ({ name }: Context): void => {
    tell({ text: `Saved ${name}.` })
    if (name !== context.name) go(paths.context(name))
  }
  return (
    <div className={layout['stack']}>
      <p className={layout['facts']}>
        <span>{TYPE_WORDS[context.type]}</span>
        <span>
          changed <When at={context.updatedAt} />
        </span>
        {context.expiresAt !== undefined && <span>the token is renewed by the server</span>}
      </p>
      {context.problem !== undefined && (
        <p className={layout['warning']}>
          <bdi>{context.problem}</bdi>
        </p>
      )}
      <Uses name={context.name} />
      <ContextForm key={context.updatedAt} type={context.type} context={context} onStored={stored} />
      <Command text={command`windlass get contexts ${context.name} -o yaml`} />
    </div>
  )
}

function Uses({ name }: { readonly name: string }): ReactElement | null {
  const { data } = useQuery(contextQueries.uses(name))
  if (data === undefined) return null
  return (
    <section aria-label="Used by" className={layout['tight']}>
      <h2>Used by {data.length === 0 ? 'nothing that names it in its settings' : String(data.length)}</h2>
      <UseList uses={data} />
    </section>
  )
}

function UseList({ uses }: { readonly uses: readonly ContextUse[] }): ReactElement {
  return (
    <ul className={styles['uses']}>
      {uses.map(({ pipeline, trigger }) => (
        <li key={`${pipeline}#${trigger}`}>
          <Link href={paths.pipeline(pipeline, trigger === undefined ? undefined : 'triggers')}>
            <bdi>{trigger === undefined ? pipeline : `${pipeline}#${trigger}`}</bdi>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function Deletion({ context: { name } }: { readonly context: Context }): ReactElement {
  const [, go] = useLocation()
  const [isAsking, setIsAsking] = useState(false)
  const state = useSession()
  const off = useAway() ?? whyNot(state.kind === 'in' ? state.session : undefined, 'change-contexts')
  const uses = useQuery(contextQueries.uses(name))
  return (
    <>
      <Button tone="danger" off={off} onClick={() => setIsAsking(true)}>
        Delete the context
      </Button>
      {isAsking && (
        <Question
          title={`Delete the context ${name}?`}
          verb="Delete the context"
          onDo={async () => {
            await client.contexts.delete(name)
            await queryClient.invalidateQueries({ queryKey: ['contexts'], exact: true })
            go(paths.contexts())
          }}
          onClose={() => setIsAsking(false)}
        >
          {uses.data === undefined ? (
            <p>The page does not know yet what uses it.</p>
          ) : uses.data.length === 0 ? (
            <p>No pipeline and no trigger names it in its settings. Documents that name it fail from then on.</p>
          ) : (
            <>
              <p>New builds of these fail from then on:</p>
              <UseList uses={uses.data} />
            </>
          )}
          <Command text={command`windlass delete context ${name}`} />
        </Question>
      )}
    </>
  )
}
