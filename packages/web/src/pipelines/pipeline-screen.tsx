/** One pipeline: its heading, its tabs, and the tab that the address names. */
import { useQuery } from '@tanstack/react-query'
import { Suspense, type ReactElement } from 'react'
import { useParams } from 'wouter'
import { ButtonLink } from '../parts/button.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { queries } from '../server/queries.ts'
import { NotHere } from '../shell/not-here.tsx'
import { Page } from '../shell/page.tsx'
import { paths, readNamed } from '../url/paths.ts'
import { PIPELINE_TABS } from './pipeline-tabs.ts'

export function PipelineScreen(): ReactElement {
  const { '*': rest = '' } = useParams<{ '*'?: string }>()
  const { name, part } = readNamed(rest)
  const { data, error, isPending, refetch } = useQuery(queries.pipeline(name))
  const current = PIPELINE_TABS.find((tab) => tab.part === part)
  if (current === undefined) return <NotHere />
  return (
    <Page
      title={name}
      heading={<bdi>{name}</bdi>}
      actions={part !== 'run' && <ButtonLink href={paths.pipeline(name, 'run')}>Run</ButtonLink>}
    >
      <Tabs
        label="Parts of the pipeline"
        tabs={PIPELINE_TABS.map((tab) => ({
          label: tab.label,
          href: paths.pipeline(name, tab.part),
          isCurrent: tab === current,
        }))}
      />
      {isPending && <Loading rows={8} what="the pipeline" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <Suspense fallback={<Loading rows={8} what="the pipeline" />}>
          <current.Content key={name} pipeline={data} />
        </Suspense>
      )}
    </Page>
  )
}
