/** The steps of a pipeline whose document is in a repository: what its last build read, and a draft of it that can be run but not saved. */
import { useQuery } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { RunForm } from '../pipelines/run-form.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import { DocumentEditor } from './document-editor.tsx'
import { editorQueries } from './queries.ts'
import styles from './editor.module.css'

export function GitDocument({ pipeline, where }: { readonly pipeline: Pipeline; readonly where: string }): ReactElement {
  const last = useQuery(editorQueries.lastBuild(pipeline.name))
  const build = last.data?.items[0]
  const plan = useQuery({ ...queries.buildPlan(build?.id ?? ''), enabled: build !== undefined })
  if (last.isPending || (build !== undefined && plan.isPending)) return <Loading rows={8} what="the document" />
  const error = last.error ?? plan.error
  if (error !== null) return <Problem error={error} onRetry={() => void last.refetch()} />
  const fetched = plan.data?.fetched
  if (build === undefined || fetched === undefined)
    return (
      <Empty>
        The steps are in <bdi className="mono">{where}</bdi>. They are shown here once a build has read them.
      </Empty>
    )
  return <ReadDocument pipeline={pipeline} where={where} build={build} text={fetched} />
}

function ReadDocument({
  pipeline,
  where,
  build,
  text: first,
}: {
  readonly pipeline: Pipeline
  readonly where: string
  readonly build: { readonly id: string; readonly number: number; readonly branch?: string | undefined }
  readonly text: string
}): ReactElement {
  const [text, setText] = useState(first)
  const [version, setVersion] = useState(0)
  const [isDraft, setIsDraft] = useState(false)
  const [isRunOpen, setIsRunOpen] = useState(false)
  const branch = build.branch ?? ''
  return (
    <>
      <div className={styles['bar']}>
        <p className={styles['notice']}>
          Read-only: <bdi className="mono">{where}</bdi>, as build <Link href={paths.build(build.id)}>#{build.number}</Link> read
          it. Commit changes there.
        </p>
        <div className={styles['buttons']}>
          {isDraft ? (
            <Button
              tone="quiet"
              onClick={() => {
                setText(first)
                setVersion(version + 1)
                setIsDraft(false)
              }}
            >
              Discard the draft
            </Button>
          ) : (
            <Button onClick={() => setIsDraft(true)}>Edit a draft</Button>
          )}
          <Button tone="primary" onClick={() => setIsRunOpen(true)}>
            Run this draft
          </Button>
        </div>
      </div>
      <DocumentEditor
        pipeline={pipeline.name}
        text={text}
        version={version}
        isReadOnly={!isDraft}
        planWith={{ branch, trigger: '' }}
        onChange={setText}
        onSave={() => undefined}
        onRun={() => setIsRunOpen(true)}
      />
      <Dialog isOpen={isRunOpen} onClose={() => setIsRunOpen(false)} title="Run this draft" isWide>
        <RunForm pipeline={pipeline} draft={text} first={{ branch }} />
      </Dialog>
    </>
  )
}
