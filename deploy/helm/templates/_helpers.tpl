{{/* Labels of everything, and the pod of each process; both take (dict "root" $ "component" "web"). */}}
{{- define "cqe.selector" -}}
app.kubernetes.io/name: cqe
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "cqe.labels" -}}
{{ include "cqe.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "cqe.pod" -}}
automountServiceAccountToken: false
# Longer than the 25 seconds in which running work is finished or released.
terminationGracePeriodSeconds: 40
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: data
    emptyDir: {}
  - name: tmp
    emptyDir: {}
{{- end }}

{{- define "cqe.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "cqe.selector" . | nindent 8 }}
{{- end }}

{{- define "cqe.container" -}}
image: {{ printf "%s:%s" .root.Values.image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: data, mountPath: /var/lib/cqe/data}
  - {name: tmp, mountPath: /tmp}
envFrom:
  - secretRef: {name: {{ .root.Values.existingSecret }}}
env:
  - {name: CQE_METRICS_LISTEN, value: "0.0.0.0:9464"}
  {{- range $name, $value := .root.Values.settings }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- end }}
