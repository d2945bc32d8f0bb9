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
import { Question } from '../parts/forms/question.tsx'
import { sh } from '../parts/shell.ts'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { Page } from '../shell/page.tsx'
import { tell } from '../shell/toasts.tsx'
import { paths } from '../url/paths.ts'
import { ContextChecks } from './context-check.tsx'
import { ContextForm } from './context-form.tsx'
import styles from './contexts.module.css'
import { TYPE_WORDS } from './draft.ts'
import { contextQueries } from './queries.ts'

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
      <ContextChecks context={context} />
      <Uses context={context} />
      <ContextForm key={context.updatedAt} type={context.type} context={context} onStored={stored} />
      <Command text={sh`windlass get contexts ${context.name} -o yaml`} />
    </div>
  )
}

type ContextUse = NonNullable<Context['usedBy']>

function Uses({ context: { usedBy } }: { readonly context: Context }): ReactElement | null {
  if (usedBy === undefined) return null
  return (
    <section aria-label="Used by" className={layout['tight']}>
      <h2>Used by {usedBy.total === 0 ? 'no pipeline and no trigger' : String(usedBy.total)}</h2>
      <UseList use={usedBy} />
    </section>
  )
}

function UseList({ use: { total, pipelines, triggers } }: { readonly use: ContextUse }): ReactElement {
  const more = total - pipelines.length - triggers.length
  return (
    <ul className={styles['uses']}>
      {pipelines.map((pipeline) => (
        <li key={pipeline}>
          <Link href={paths.pipeline(pipeline)}>
            <bdi>{pipeline}</bdi>
          </Link>
        </li>
      ))}
      {triggers.map((trigger) => (
        <li key={trigger}>
          <Link href={paths.pipeline(trigger.slice(0, trigger.indexOf('#')), 'triggers')}>
            <bdi>{trigger}</bdi>
          </Link>
        </li>
      ))}
      {more > 0 && <li>and {more} more</li>}
    </ul>
  )
}

function Deletion({ context: { name, usedBy } }: { readonly context: Context }): ReactElement {
  const [, go] = useLocation()
  const [isAsking, setIsAsking] = useState(false)
  const state = useSession()
  const off = useAway() ?? whyNot(state.kind === 'in' ? state.session : undefined, 'change-contexts')
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
          {usedBy === undefined ? (
            <p>The server does not say what uses it.</p>
          ) : usedBy.total === 0 ? (
            <p>No pipeline and no trigger names it.</p>
          ) : (
            <>
              <p>New builds of these fail from then on:</p>
              <UseList use={usedBy} />
            </>
          )}
          <Command text={sh`windlass delete context ${name}`} />
        </Question>
      )}
    </>
  )
}
