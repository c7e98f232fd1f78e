/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* Hooks: interrupts, those of devices and soft ones, and whom they strike. */
#ifndef SOJOURN_CULPRIT_IRQ_H
#define SOJOURN_CULPRIT_IRQ_H

static __always_inline void tell_irqs(u32 vector, struct irq_sum *sum)
{
	struct told *told = tell(TOLD_IRQ);

	if (told) {
		told->tid = sum->tid;
		told->from_ns = sum->from_ns;
		told->to_ns = sum->to_ns;
		told->woken_ns = sum->ns;
		told->what = vector;
		told->call = sum->number;
		bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
	}
	sum->ns = 0;
}

/* Interrupts that strike the same task are summed until they are worth telling; what is left over
 * when another one is struck is told from a quarter of that on. */
static __always_inline int book_irq(struct culprit_cpu *cpu, u32 vector, u32 number, u64 from_ns, u64 now_ns, u64 ns)
{
	struct irq_sum *sum = &cpu->sums[wrapped(vector, VECTORS)];
	u32 tid;

	if (!culprit_control.is_enabled)
		return 0;
	tid = tid_here();
	if (now_ns > cpu->served_ns + SERVED_NS && !(tid && slot_for(tid, bpf_get_current_task_btf())))
		return 0;	/* none of the service's has been here, nor is it struck: one may run for long */
	if (sum->ns && (sum->tid != tid || sum->number != number || now_ns > sum->from_ns + SPREAD_NS)) {
		if (sum->ns >= culprit_settings.irq_ns / 4)
			tell_irqs(vector, sum);
		sum->ns = 0;
	}
	if (!sum->ns) {
		sum->from_ns = from_ns;
		sum->tid = tid;
		sum->number = number;
	}
	sum->ns += ns;
	sum->to_ns = now_ns;
	if (sum->ns >= culprit_settings.irq_ns)
		tell_irqs(vector, sum);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(culprit_softirq, unsigned int vector)
{
	struct culprit_cpu *cpu = here();

	cpu->nested_ns = 0;
	cpu->softirq_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(culprit_softirq_end, unsigned int vector)
{
	struct culprit_cpu *cpu = here();
	u64 from_ns = cpu->softirq_ns, nested_ns = cpu->nested_ns, now_ns = bpf_ktime_get_ns();

	cpu->softirq_ns = 0;
	if (from_ns && now_ns > from_ns + nested_ns)
		book_irq(cpu, vector, 0, from_ns, now_ns, now_ns - from_ns - nested_ns);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(culprit_irq, int irq, struct irqaction *action)
{
	here()->irq_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(culprit_irq_end, int irq, struct irqaction *action, int ret)
{
	struct culprit_cpu *cpu = here();
	u64 from_ns = cpu->irq_ns, now_ns = bpf_ktime_get_ns();

	cpu->irq_ns = 0;
	if (!from_ns || now_ns <= from_ns)
		return 0;
	if (cpu->softirq_ns)
		cpu->nested_ns += now_ns - from_ns;
	book_irq(cpu, HARD_IRQ, irq, from_ns, now_ns, now_ns - from_ns);
	return 0;
}

#endif
